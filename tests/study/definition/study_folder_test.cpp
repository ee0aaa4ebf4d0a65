// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/study_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/study/runs/child_process.h"

namespace evenkeel::study {
namespace {

namespace fs = std::filesystem;

/// A study folder from elsewhere, with links to a file and a folder of the user.
class ForeignStudy : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(folder_);
    fs::create_directories(root_ / "home");
    write_file(mine_, "precious");
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path root_ = fs::path(::testing::TempDir()) / text("study_folder-", ::getpid());
  fs::path folder_ = root_ / "study", mine_ = root_ / "home" / "mine";
};

TEST_F(ForeignStudy, LosesTheLinksOfFilesThatAreReplaced) {
  StudyFolder study(folder_, {}, {});
  for (const auto* name : {"report.html", "report.md", "runs.csv", "searches.csv"}) {
    fs::create_symlink(mine_, folder_ / name);
    study.write({{name, "new"}});
    EXPECT_EQ(read_file(folder_ / name), "new");
  }
  EXPECT_EQ(read_file(mine_), "precious");
}

TEST_F(ForeignStudy, IsRefusedIfItsIdentityOrItsLogsAreALink) {
  fs::create_symlink(mine_, folder_ / "study.json");
  EXPECT_THROW(StudyFolder(folder_, {}, {}), Error);
  fs::remove(folder_ / "study.json");
  fs::remove_all(folder_ / "logs");
  fs::create_directory_symlink(root_ / "home", folder_ / "logs");
  EXPECT_THROW(StudyFolder(folder_, {}, {}), Error);
  EXPECT_EQ(read_file(mine_), "precious");
}

TEST_F(ForeignStudy, GetsNoOutputOfARunThroughALink) {
  fs::create_symlink(mine_, folder_ / "run.log");
  EXPECT_THROW(ChildProcess({"/bin/true"}, folder_ / "run.log"), Error);
  EXPECT_THROW(last_log_line(folder_ / "run.log"), Error);
  EXPECT_EQ(read_file(mine_), "precious");
}

TEST_F(ForeignStudy, IsNotWrittenAfterItWasMoved) {
  StudyFolder study(folder_, {}, {});
  fs::rename(folder_, root_ / "old");
  fs::create_directories(folder_);
  EXPECT_THROW(study.write({{"report.md", "new"}}), Error);
  EXPECT_TRUE(fs::is_empty(folder_));
}

std::string refusal(const fs::path& folder, const StudyFolder::Options& options) {
  try {
    const StudyFolder study(folder, {}, options);
  } catch (const Error& error) {
    return text(static_cast<int>(error.exit()), " ", error.what());
  }
  return "";
}

TEST(SharedStudyFolder, IsLockedOnlyWhileAWorkerWrites) {
  const auto folder = fs::path(::testing::TempDir()) / "shared_study";
  fs::remove_all(folder);
  const StudyFolder::Options worker = {.worker_arithmetic = "float32 avx2", .lock_seconds = 0.1};
  StudyFolder one(folder, {}, worker), two(folder, {}, worker);
  one.write({{"report.md", "one"}, {"runs.csv", "one"}});
  two.write({{"report.md", "two"}});
  EXPECT_EQ(read_file(folder / "report.md"), "two");
  EXPECT_EQ(read_file(folder / "runs.csv"), "one");
  const StudyFolder alone(folder, {}, {});
  EXPECT_THROW(one.write({{"report.md", "one"}}), Error);
  EXPECT_EQ(refusal(folder, worker), text("75 ", folder.string(), ": locked by process ",
                                          ::getpid(), "; wait for it, or stop it"));
}

TEST(SharedStudyFolder, RefusesAWorkerThatComputesDifferently) {
  const auto folder = fs::path(::testing::TempDir()) / "unlike_workers";
  fs::remove_all(folder);
  EXPECT_EQ(refusal(folder, {.worker_arithmetic = "float32 avx2"}), "");
  EXPECT_EQ(refusal(folder, {.worker_arithmetic = "float32 avx2"}), "");
  EXPECT_EQ(refusal(folder, {.worker_arithmetic = "float32 avx512"}).substr(0, 3), "78 ");
  EXPECT_EQ(refusal(folder, {}), "");
}

/// The refusal of a process that is no worker: "data.train aa, but here it is bb".
std::string refused_by_workers(const fs::path& folder, const std::string& difference) {
  return text("78 ", (folder / "workers.json").string(),
              ": this study was trained by workers with ", difference,
              ", which --override does not allow; restore the file, or name another folder with ",
              "--run");
}

StudyFolder::Options worker_of(const std::vector<std::string>& texts) {
  return {.worker_arithmetic = "float32", .worker_texts = texts};
}

TEST(SharedStudyFolder, RefusesAWorkerThatReadsAnotherText) {
  const auto folder = fs::path(::testing::TempDir()) / "workers_of_two_texts";
  fs::remove_all(folder);
  const auto of_text = [](const std::string& digest) {
    return worker_of({"data.train " + digest, "data.validation cc"});
  };
  EXPECT_EQ(refusal(folder, of_text("aa")), "");
  EXPECT_EQ(refusal(folder, of_text("aa")), "");
  EXPECT_EQ(refusal(folder, of_text("bb")),
            text("78 ", (folder / "workers.json").string(),
                 ": the workers of a study must read the same files, but texts had ",
                 R"(["data.train aa"], but has ["data.train bb"] here, which --override does not )",
                 "allow; give all workers the same files, or name another folder with --run"));
  write_file(folder / "workers.json", R"({"arithmetic": "float32"})");  // of an older version
  EXPECT_EQ(refusal(folder, of_text("bb")), "");
  EXPECT_EQ(refusal(folder, of_text("aa")).substr(0, 3), "78 ");
}

TEST(StudyFolder, RefusesAChangedSchemeOrText) {
  const auto folder = fs::path(::testing::TempDir()) / "changed_inputs";
  fs::remove_all(folder);
  const auto with = [](const std::string& norm, const std::string& digest) {
    return StudyFolder::Options{.schemes = {{"mine", "layers = 2\nnorm = \"" + norm + "\"\n"}},
                                .texts = {"data.train " + digest, "data.validation cc"}};
  };
  EXPECT_EQ(refusal(folder, {}), "");  // of an older version
  EXPECT_EQ(refusal(folder, with("rms_norm", "aa")), "");
  EXPECT_EQ(refusal(folder, with("rms_norm", "aa")), "");
  const auto refused = [&](const std::string& difference) {
    return text("78 ", folder.string(), ": the study was begun with something else: ", difference,
                "; name another folder with --run (finished runs are shared), or allow it with ",
                "--override");
  };
  EXPECT_EQ(
      refusal(folder, with("layer_norm", "aa")),
      refused(R"(scheme mine had ["norm = \"rms_norm\""], but has ["norm = \"layer_norm\""])"));
  EXPECT_EQ(refusal(folder, with("rms_norm", "bb")),
            refused(R"(texts had ["data.train aa"], but has ["data.train bb"])"));
  auto options = with("layer_norm", "bb");
  options.allow_changes = true;
  EXPECT_EQ(StudyFolder(folder, {}, options).changes().size(), 2U);
  EXPECT_EQ(refusal(folder, with("layer_norm", "bb")), "");
  EXPECT_EQ(refusal(folder, with("rms_norm", "bb")).substr(0, 3), "78 ");
}

// A record of an older version has no line of the tasks, which then count as equal.
TEST(StudyFolder, RefusesAChangedTaskFile) {
  const auto folder = fs::path(::testing::TempDir()) / "changed_tasks";
  fs::remove_all(folder);
  const auto with = [](const std::vector<std::string>& tasks) {
    StudyFolder::Options options{.texts = {"data.train aa"}};
    options.texts.insert(options.texts.end(), tasks.begin(), tasks.end());
    return options;
  };
  EXPECT_EQ(refusal(folder, with({})), "");  // of an older version
  EXPECT_EQ(refusal(folder, with({"evaluate.tasks bb"})), "");
  EXPECT_EQ(refusal(folder, with({"evaluate.tasks bb"})), "");
  EXPECT_EQ(refusal(folder, with({"evaluate.tasks cc"})),
            text("78 ", folder.string(), ": the study was begun with something else: texts had ",
                 R"(["evaluate.tasks bb"], but has ["evaluate.tasks cc"]; name another folder )",
                 "with --run (finished runs are shared), or allow it with --override"));
}

TEST(SharedStudyFolder, RefusesAWorkerThatReadsAnotherTaskFile) {
  const auto folder = fs::path(::testing::TempDir()) / "workers_of_two_tasks";
  fs::remove_all(folder);
  const auto of_task = [](const std::string& digest) {
    return worker_of({"data.train aa", "evaluate.tasks " + digest});
  };
  EXPECT_EQ(refusal(folder, of_task("bb")), "");
  EXPECT_EQ(refusal(folder, of_task("cc")),
            text("78 ", (folder / "workers.json").string(),
                 ": the workers of a study must read the same files, but texts had ",
                 R"(["evaluate.tasks bb"], but has ["evaluate.tasks cc"] here, which --override )",
                 "does not allow; give all workers the same files, or name another folder with ",
                 "--run"));
  write_file(folder / "workers.json",  // of an older version
             R"({"arithmetic": "float32", "texts": ["data.train aa"]})");
  EXPECT_EQ(refusal(folder, of_task("cc")), "");
  EXPECT_EQ(refusal(folder, of_task("bb")).substr(0, 3), "78 ");
}

// A worker and one process agree: the texts that the workers read are not for --override.
TEST(SharedStudyFolder, RefusesAnotherTextOfEveryProcessWithOverrideToo) {
  const auto folder = fs::path(::testing::TempDir()) / "workers_and_override";
  fs::remove_all(folder);
  const auto process = [](const std::string& digest, bool is_worker, bool allow_changes) {
    StudyFolder::Options options{.allow_changes = allow_changes, .texts = {"data.train " + digest}};
    if (!is_worker) return options;
    options.worker_arithmetic = "float32";
    options.worker_texts = options.texts;
    return options;
  };
  EXPECT_EQ(refusal(folder, process("aa", /*is_worker=*/true, /*allow_changes=*/false)), "");
  const auto known = read_file(folder / "study.json");
  const auto first = refusal(folder, process("bb", true, false));
  EXPECT_EQ(first.substr(0, 3), "78 ");
  const auto of_one_process = refused_by_workers(folder, "data.train aa, but here it is bb");
  for (const bool is_worker : {true, false}) {
    for (const bool allow_changes : {true, false})
      EXPECT_EQ(refusal(folder, process("bb", is_worker, allow_changes)),
                is_worker ? first : of_one_process);
    EXPECT_EQ(refusal(folder, process("aa", is_worker, true)), "");
  }
  EXPECT_EQ(read_file(folder / "study.json"), known);
}

// An older version let --override change the text of one process after workers had trained.
TEST(SharedStudyFolder, LetsOneProcessReadTheTextsOfStudyJson) {
  const auto folder = fs::path(::testing::TempDir()) / "changed_after_workers";
  fs::remove_all(folder);
  const auto process = [](const std::string& train, const std::string& ood) {
    return StudyFolder::Options{.allow_changes = true,
                                .texts = {"data.train " + train, "data.ood " + ood}};
  };
  EXPECT_EQ(refusal(folder, process("bb", "cc")), "");
  write_file(folder / "workers.json",
             R"({"arithmetic": "float32", "texts": ["data.train aa", "data.ood cc"]})");
  EXPECT_EQ(refusal(folder, process("bb", "cc")), "");
  EXPECT_EQ(refusal(folder, {.texts = {"data.train bb", "data.ood cc"}}), "");
  EXPECT_EQ(refusal(folder, process("bb", "dd")),
            refused_by_workers(folder, "data.ood cc, but here it is dd"));
  EXPECT_EQ(refusal(folder, process("ee", "dd")),
            refused_by_workers(folder, "data.train aa, but here it is ee (and 1 more)"));
  auto worker = process("bb", "cc");
  worker.worker_arithmetic = "float32";
  worker.worker_texts = worker.texts;
  EXPECT_EQ(refusal(folder, worker).substr(0, 3), "78 ");
}

// A grid that gets another text, or whose axis of texts has another order, changes no file.
TEST(StudyFolder, ComparesTextsByName) {
  const auto folder = fs::path(::testing::TempDir()) / "texts_by_name";
  fs::remove_all(folder);
  const auto of = [](const std::vector<std::string>& texts) {
    return StudyFolder::Options{.texts = texts};
  };
  EXPECT_EQ(refusal(folder, of({"data.train aa", "data.train bb"})), "");
  EXPECT_EQ(refusal(folder, of({"data.train bb", "data.train aa"})), "");
  EXPECT_EQ(refusal(folder, of({"data.train bb", "data.ood cc", "data.train aa"})), "");
  EXPECT_EQ(refusal(folder, of({"data.train ee", "data.ood cc", "data.train aa"})),
            text("78 ", folder.string(), ": the study was begun with something else: texts had ",
                 R"(["data.train bb"], but has ["data.train ee"]; name another folder with --run )",
                 "(finished runs are shared), or allow it with --override"));
  EXPECT_EQ(StudyFolder(folder, {}, of({"data.train aa"})).changes().size(), 0U);
}

// workers.json has the texts of all workers, also those that the last worker did not read.
TEST(SharedStudyFolder, ComparesTextsOfWorkersByName) {
  const auto folder = fs::path(::testing::TempDir()) / "texts_of_workers_by_name";
  fs::remove_all(folder);
  EXPECT_EQ(refusal(folder, worker_of({"data.train aa", "data.train bb"})), "");
  EXPECT_EQ(refusal(folder, worker_of({"data.train bb", "data.train aa", "data.ood cc"})), "");
  EXPECT_EQ(refusal(folder, worker_of({"data.train aa"})), "");
  EXPECT_EQ(refusal(folder, worker_of({"data.train aa", "data.ood dd"})).substr(0, 3), "78 ");
  EXPECT_EQ(refusal(folder, worker_of({"data.train aa", "data.train ee"})).substr(0, 3), "78 ");
  EXPECT_EQ(refusal(folder, {.texts = {"data.train bb", "data.validation ff"}}), "");
}

TEST(SharedStudyFolder, OfARefusedStudyGetsNoWorker) {
  const auto folder = fs::path(::testing::TempDir()) / "refused_worker";
  fs::remove_all(folder);
  EXPECT_EQ(refusal(folder, {.texts = {"data.train aa"}}), "");
  const StudyFolder::Options worker = {.texts = {"data.train bb"},
                                       .worker_arithmetic = "float32",
                                       .worker_texts = {"data.train bb"}};
  EXPECT_EQ(refusal(folder, worker).substr(0, 3), "78 ");
  EXPECT_FALSE(fs::exists(folder / "workers.json"));
}

TEST(StudyFolder, NamesAChangedWayToJudge) {
  const auto folder = fs::path(::testing::TempDir()) / "changed_study";
  fs::remove_all(folder);
  Study study;
  study.claims = {{.kind = Claim::Kind::equivalent, .says = "equal", .of = {{"scheme", "a"}}}};
  {
    StudyFolder(folder, study, {});
  }
  const auto refused = [&](const Study& changed) -> std::string {
    try {
      StudyFolder(folder, changed, {});
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refused(study), "");
  auto changed = study;
  changed.controls_false_discoveries = true;
  EXPECT_NE(refused(changed).find("correction was \"holm\", but is \"benjamini_hochberg\""),
            std::string::npos)
      << refused(changed);
  changed = study;
  changed.claims[0].competence = 0.5;
  EXPECT_NE(refused(changed).find("below 0.5"), std::string::npos);
  changed = study;
  changed.claims[0].than_at = {{"batch", "16"}};
  EXPECT_NE(refused(changed).find("than at 16"), std::string::npos);
  changed = study;
  changed.smallest_effect = 0.1;
  EXPECT_NE(refused(changed).find("smallest_effect was \"default\", but is 0.1"),
            std::string::npos);
}

// A worker may find the folder while another one makes it; a folder of something else is refused.
TEST(SharedStudyFolder, RefusesAForeignFolder) {
  const auto folder = fs::path(::testing::TempDir()) / "foreign_folder";
  fs::remove_all(folder);
  fs::create_directories(folder);
  write_file(folder / "lock", "");
  EXPECT_EQ(refusal(folder, {.worker_arithmetic = "float32 avx2"}), "");
  fs::remove(folder / "study.json");
  EXPECT_EQ(refusal(folder, {.worker_arithmetic = "float32 avx2"}).substr(0, 3), "64 ");
}

}  // namespace
}  // namespace evenkeel::study
