// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/config/scheme/scheme_norm.h"
#include "evenkeel/config/scheme/scheme_patch.h"
#include "evenkeel/config/scheme/scheme_rules.h"
#include "evenkeel/config/scheme/scheme_sublayer.h"
#include "evenkeel/config/scheme/scheme_table.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/validate.h"

namespace evenkeel::config {

namespace {

const std::vector<std::string> kKeys = {
    "title",    "family",         "source",          "equation",      "note",
    "warnings", "norm",           "layout",          "dual",          "embedding",
    "final",    "logits",         "attention",       "feed_forward",  "damp",
    "layers",   "head",           "base_init",       "extends",       "init",
    "hooks",    "reparameterize", "norm_parameters", "embedding_init"};

/// Builds a norm::Scheme from a source and a shape.
class Binder {
 public:
  Binder(const SchemeSource& source, const norm::Shape& shape)
      : table_(table_of(source)), shape_(shape), top_{source.name, ""} {
    check_keys(table_, kKeys, top_);
    context_.norm = norm::default_norm(norm::Kind::rms_norm);
    context_.sizes = fixed_variables(shape);
    if (const auto* const node = at("norm")) context_.norm = own_norm(*node);
    scheme_.info = scheme_info(source);
    scheme_.shape = shape;
  }

  norm::Scheme bind() && {
    check_sublayer_tables();
    for (std::int64_t l = 1; l <= shape_.layers; ++l) scheme_.blocks.push_back(block(l));
    read_embedding_and_head();
    if (const auto* const node = at("dual"))
      scheme_.dual = dual(read_table(*node, top_.in("dual")));
    read_initialization();
    read_rules();
    return std::move(scheme_);
  }

 private:
  const toml::node* at(const char* key) const { return table_.get(key); }

  norm::Norm own_norm(const toml::node& node) const {
    auto norm = read_norm(node, top_.in("norm"), context_.norm, context_.sizes);
    if (norm) return *norm;
    refuse("bad_value", top_.in("norm"), node,
           "the scheme's own norm cannot be \"none\"; empty its slots instead");
  }

  /// Reads the sublayers and each patch as written, so that an error names its line. Patches that
  /// select no block of this shape are checked, too.
  void check_sublayer_tables() {
    check_sublayer_table(table_, top_);
    auto context = context_;
    context_.is_patch = true;
    patches_ = patches_of(table_, top_);
    for (const auto& patch : patches_) check_sublayer_table(*patch.table, patch.place);
    context_ = std::move(context);
  }

  void check_sublayer_table(const toml::table& table, const Place& place) {
    read_block(table, place, 1);
  }

  norm::Block read_block(const toml::table& table, const Place& place, std::int64_t l) {
    auto context = context_;
    context.sizes["l"] = static_cast<double>(l);
    norm::Block block;
    if (const auto* const node = table.get("attention")) {
      const auto sublayer = place.in("attention");
      block.attention = read_attention(read_table(*node, sublayer), sublayer, context);
    }
    if (const auto* const node = table.get("feed_forward")) {
      const auto sublayer = place.in("feed_forward");
      block.feed_forward = read_feed_forward(read_table(*node, sublayer), sublayer, context);
    }
    if (const auto* const node = table.get("damp"); node != nullptr && !is_none(*node)) {
      block.damp = read_number(*node, place.in("damp"), {"scalar"}, context);
    }
    return block;
  }

  norm::Block block(std::int64_t l) {
    const auto table = block_table(table_, patches_, l, shape_);
    return read_block(table, top_.in(text("block ", l)), l);
  }

  /// Reads the keys outside of the blocks: embedding, final, logits, head.
  void read_embedding_and_head() {
    if (const auto* const node = at("embedding")) {
      const auto place = top_.in("embedding");
      const auto& table = read_table(*node, place);
      check_keys(table, {"norm", "scale"}, place);
      if (const auto* const norm = table.get("norm")) {
        scheme_.embedding_norm = read_norm(*norm, place.in("norm"), context_.norm, context_.sizes);
      }
      read_scale(table, place, scheme_.embedding_scale);
    }
    if (const auto* const node = at("final")) {
      scheme_.final = read_norm(*node, top_.in("final"), context_.norm, context_.sizes);
    }
    if (const auto* const node = at("logits")) {
      const auto place = top_.in("logits");
      const auto& table = read_table(*node, place);
      check_keys(table, {"scale", "softcap"}, place);
      read_scale(table, place, scheme_.logits_scale);
      if (const auto* const cap = table.get("softcap"); cap != nullptr && !is_none(*cap)) {
        scheme_.logits_softcap = read_expression(*cap, place.in("softcap"));
      }
    }
    if (const auto* const node = at("head")) {
      scheme_.tied = read_choice<bool>(*node, top_.in("head"), {{"tied", true}, {"untied", false}});
    }
  }

  void read_scale(const toml::table& table, const Place& place, norm::Number& scale) const {
    const auto* const node = table.get("scale");
    if (node == nullptr || is_none(*node)) return;
    scale = read_number(*node, place.in("scale"), {"scalar", "vector"}, context_);
  }

  norm::Dual dual(const toml::table& table) const {
    const auto place = top_.in("dual");
    check_keys(table, {"read", "output", "norm", "write_y", "y_init"}, place);
    for (const auto* const key : {"read", "output"}) {
      if (!table.contains(key))
        refuse("bad_value", place, table, text("two streams need \"", key, "\""));
    }
    norm::Dual dual;
    dual.reads_norm_of_y = read_choice<bool>(*table.get("read"), place.in("read"),
                                             {{"x", false}, {"x + norm(y)", true}});
    dual.norms_both_at_end =
        read_choice<bool>(*table.get("output"), place.in("output"),
                          {{"x + norm(y)", false}, {"norm(norm(x) + norm(y))", true}});
    dual.norm = context_.norm;
    if (const auto* const node = table.get("norm")) {
      const auto norm = read_norm(*node, place.in("norm"), context_.norm, context_.sizes);
      if (!norm) refuse("bad_value", place.in("norm"), *node, "the second stream needs a norm");
      dual.norm = *norm;
    }
    if (const auto* const node = table.get("write_y")) {
      dual.write_y = read_expression(*node, place.in("write_y"));
    }
    if (const auto* const node = table.get("y_init")) {
      dual.y_init = read_expression(*node, place.in("y_init"));
    }
    return dual;
  }

  /// Reads the distributions and init factors.
  void read_initialization() {
    if (const auto* const node = at("base_init")) {
      scheme_.base_init = read_word(*node, top_.in("base_init"));
    }
    if (const auto* const node = at("embedding_init")) {
      scheme_.embedding_init = read_word(*node, top_.in("embedding_init"));
    }
    if (const auto* const node = at("init")) scheme_.init = read_init(*node, top_.in("init"));
  }

  void read_rules() {
    if (const auto* const node = at("layout")) {
      scheme_.parallel =
          read_choice<bool>(*node, top_.in("layout"), {{"sequential", false}, {"parallel", true}});
    }
    if (const auto* const node = at("reparameterize")) {
      scheme_.reparameterize = read_reparameterize(*node, top_.in("reparameterize"));
    }
    if (const auto* const node = at("hooks")) {
      scheme_.hooks = read_hooks(*node, top_.in("hooks"), context_.sizes);
    }
    if (const auto* const node = at("norm_parameters"); node != nullptr && !is_none(*node)) {
      scheme_.norm_parameters = read_expression(*node, top_.in("norm_parameters"));
    }
  }

  const toml::table& table_;
  const norm::Shape& shape_;
  Place top_;
  SublayerContext context_;
  std::vector<Patch> patches_;
  norm::Scheme scheme_;
};

}  // namespace

norm::Scheme bind(const SchemeSource& source, const norm::Shape& shape) {
  auto scheme = Binder(source, shape).bind();
  norm::validate(scheme);
  return scheme;
}

}  // namespace evenkeel::config
