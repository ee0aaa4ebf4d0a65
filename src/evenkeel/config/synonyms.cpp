// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/synonyms.h"

#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/config/scheme/scheme.h"

namespace evenkeel::config {

namespace {

/// A key or a scheme, and other words for it as folded() gives them, separated by spaces.
struct Synonyms {
  std::string_view name, words;
};

constexpr Synonyms kKeySynonyms[] = {
    {"seed", "randomseed randomstate"},
    {"scheme", "qknorm qklayernorm prenorm normplacement normposition"},
    {"scheme.norm", "norm normalization normtype layernormtype"},
    {"scheme.norm.epsilon", "rmsnormeps layernormeps normeps normepsilon"},
    {"model.layers", "numlayers nlayer nlayers numhiddenlayers numblocks depth"},
    {"model.width", "hiddensize dim dmodel nembd embeddim hiddendim modeldim"},
    {"model.heads", "numheads nhead nheads numattentionheads"},
    {"model.kv_heads", "numkeyvalueheads numkvheads nkvheads numquerygroups"},
    {"model.inner",
     "intermediatesize ffnhiddensize mlphiddensize dimfeedforward dff ffndim "
     "moeintermediatesize moeffnhiddensize"},
    {"model.context",
     "seqlen seqlength sequencelength maxseqlen maxseqlength maxsequencelength "
     "maxpositionembeddings npositions nctx contextlength blocksize maxlength"},
    {"model.vocabulary", "vocabsize vocab nvocab paddedvocabsize"},
    {"model.pad_vocabulary_to", "makevocabsizedivisibleby padvocabsizemultipleof"},
    {"model.rope_theta", "rotarybase ropebase"},
    {"model.tied",
     "tiewordembeddings tieembeddings tiedembeddings weighttying "
     "untieembeddingsandoutputweights"},
    {"model.init", "initmethod initmethodstd initializerrange initstd initfn"},
    {"model.recompute",
     "gradientcheckpointing activationcheckpointing recomputegranularity "
     "recomputeactivations"},
    {"model.experts.count", "numexperts nexperts numlocalexperts nroutedexperts moenumexperts"},
    {"model.experts.active", "numexpertspertok moeroutertopk moetopk topk"},
    {"model.experts.shared", "nsharedexperts numsharedexperts"},
    {"model.experts.dense_layers", "firstkdensereplace"},
    {"model.experts.renormalize", "normtopkprob"},
    {"model.experts.balance", "routerauxlosscoef moeauxlosscoeff auxlosscoef moelossweight"},
    {"model.experts.router_z", "routerzlosscoef moezlosscoeff moezlossweight"},
    {"model.experts.bias_rate", "moerouterbiasupdaterate"},
    {"data.train", "dataset datapath traindatapath trainfile traindata"},
    {"data.validation", "validdatapath validationfile validfile valdata"},
    {"data.tokenizer",
     "tokenizerpath tokenizername tokenizernameorpath tokenizermodel tokenizerfile"},
    {"train.steps",
     "steps maxsteps numsteps totalsteps trainsteps numtrainsteps trainiters maxiters "
     "numiterations iterations"},
    {"train.tokens", "maxtokens numtokens traintokens"},
    {"train.batch", "batchsize globalbatchsize trainbatchsize"},
    {"train.micro_batch",
     "microbatchsize perdevicetrainbatchsize perdevicebatchsize devicebatchsize "
     "gradientaccumulationsteps gradaccumsteps gradaccumulationsteps accumulategradbatches"},
    {"train.precision", "dtype torchdtype bf16 fp16 mixedprecision amp"},
    {"train.threads", "numthreads nthreads"},
    {"train.from", "initfrom pretrainedcheckpoint pretrainedmodel"},
    {"optimizer.kind", "optim optimizertype optimizername"},
    {"optimizer.betas", "beta1 beta2 adambeta1 adambeta2"},
    {"optimizer.epsilon", "eps adameps adamepsilon"},
    {"optimizer.weight_decay", "wd"},
    {"optimizer.clip",
     "gradclip clipgrad maxgradnorm maxnorm gradientclipping gradclipnorm gradnormclip "
     "gradientclipval clipgradnorm"},
    {"schedule.kind", "scheduler lrscheduler lrschedulertype lrdecaystyle"},
    {"schedule.steps", "lrdecayiters lrdecaysteps"},
    {"schedule.peak", "lr learningrate maxlr peaklr baselr"},
    {"schedule.floor", "minlr minlrratio minlearningrate etamin finallr"},
    {"schedule.start", "lrwarmupinit warmupinitlr"},
    {"schedule.warmup",
     "warmupsteps numwarmupsteps warmupiters lrwarmupiters warmupratio warmupfraction "
     "lrwarmupfraction warmuptokens"},
    {"schedule.decay", "lrwsddecayiters decaysteps numdecaysteps"},
    {"evaluate.every", "evalinterval evalsteps evalevery valcheckinterval"},
    {"checkpoint.every", "saveinterval savesteps saveevery checkpointinterval ckptinterval"},
    {"checkpoint.keep", "savetotallimit"},
    {"log.every", "loggingsteps loginterval logevery logginginterval"},
    {"kernels.attention", "attnimplementation useflashattn flashattention"},
    {"distributed.shard", "zerostage"},
    {"distributed.connect_timeout",
     "starttimeout startuptimeout jointimeout inittimeout rdzvtimeout rendezvoustimeout "
     "storetimeout"},
    {"distributed.collective_timeout",
     "distributedtimeout distributedtimeoutminutes ddptimeout nccltimeout processgrouptimeout"},
};

constexpr Synonyms kSchemeSynonyms[] = {
    {"pre_norm", "rmsnorm preln prermsnorm llama2 llama3 qwen mixtral"},
    {"pre_norm_layer_norm", "layernorm ln prelayernorm gpt gpt2 gpt3 nanogpt"},
    {"post_norm", "postln postlayernorm postrmsnorm bert transformer"},
    {"pre_qk", "qknorm qkln qklayernorm prenormqknorm preqknorm qkrmsnorm"},
    {"hybrid_norm", "hybrid hybridln"},
    {"hybrid_norm_star", "hybridnorm*"},
    {"peri_ln", "peri perinorm perilayernorm"},
    {"sandwich", "sandwichln sandwichnorm cogview"},
    {"deep_norm", "deepnet deepln"},
    {"sub_ln", "subnorm sublayernorm magneto"},
    {"mix_ln", "mixnorm mixlayernorm"},
    {"output_norm", "outputln outnorm branchnorm"},
    {"parallel", "gptneox gptj palm parallelblock parallelresidual"},
    {"no_norm", "none identity normfree nonormalization"},
    {"dyt", "dynamictanh"},
    {"rezero", "skipinit"},
    {"qk_clip", "muonclip"},
    {"ngpt", "normalizedgpt normalizedtransformer"},
    {"layer_norm_scaling", "lns lnscaling"},
    {"scale_norm_fix_norm", "scalenorm fixnorm"},
    {"swin_v2", "swin"},
    {"retnet_context", "retnet"},
    {"diff_context", "differentialtransformer difftransformer"},
};

/// Lower case, without '-', '_' and spaces.
std::string folded(std::string_view word) {
  std::string out;
  for (const char letter : word) {
    if (letter == '-' || letter == '_' || letter == ' ') continue;
    out += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return out;
}

/// The name of `table` that has the folded word; "" if none has it.
template <typename Table>
std::string_view name_with_word(const Table& table, std::string_view word) {
  const auto wanted = text(' ', word, ' ');
  for (const auto& [name, words] : table) {
    if (text(' ', words, ' ').find(wanted) != std::string::npos) return name;
  }
  return "";
}

std::string_view last_part(std::string_view name) {
  return name.substr(name.find_last_of('.') + 1);  // npos + 1 is 0
}

}  // namespace

std::string key_of_synonym(std::string_view name) {
  const auto word = folded(last_part(name));
  if (const auto key = name_with_word(kKeySynonyms, word); !key.empty()) return std::string(key);
  std::vector<std::string> found;
  for (const auto& key : key_names()) {
    if (folded(last_part(key)) == word) found.push_back(key);
  }
  return found.size() == 1 ? found.front() : std::string(name);
}

std::string scheme_of_synonym(const std::string& name) {
  const auto word = folded(name);
  for (const auto& each : catalogue()) {
    if (folded(each) == word) return each;
  }
  const auto scheme = name_with_word(kSchemeSynonyms, word);
  return scheme.empty() ? name : std::string(scheme);
}

}  // namespace evenkeel::config
