// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/lock.h"
#include "report/xml_check.h"

namespace evenkeel::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A folder of its own for each test, gone at its end.
class Report : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path folder(const std::string& name) const {
    fs::create_directories(root_ / name);
    return root_ / name;
  }

  /// A run with every file; its last validation loss is `validation`, over a floor of 0.5.
  fs::path run(const std::string& name, const std::string& scheme, double validation) const {
    const auto at = folder(name);
    std::string metrics = json{{"step", 0}, {"val_loss", 5}}.dump() + "\n";
    for (int step = 10; step <= 100; step += 10) {
      json record = {{"step", step},
                     {"tokens", step * 100},
                     {"loss", 1 + 10.0 / step},
                     {"lr", 0.001},
                     {"grad_norm", 10.0 / step},
                     {"clipped", step <= 20},
                     {"tokens_per_s", 2000},
                     {"step_s", 0.5},
                     {"memory_bytes", 1 << 20},
                     {"faults", 0}};
      if (step % 50 == 0) {
        const double loss = validation + (100 - step) * 0.01;
        record["val_loss"] = loss;
        record["val_bits_per_byte"] = loss / std::log(2);
        record["val_floor"] = 0.5;
        record["val_gap"] = loss - 0.5;
      }
      metrics += record.dump() + "\n";
    }
    write_file(at / "metrics.jsonl", metrics);
    write_file(at / "run.toml", "scheme = \"" + scheme + "\"\n[optimizer]\nclip = 1.0\n");
    write_file(at / "status.json", json{{"state", "finished"},
                                        {"step", 100},
                                        {"steps", 100},
                                        {"scheme", scheme},
                                        {"preset", "tiny"}}
                                       .dump());
    write_file(at / "provenance.json", R"({"torch": "2.13.0", "data": {"digest": "<ab>"}})");
    write_file(at / "health.jsonl", R"({"step": 30, "event": "spike", "detail": "9 > 6"})"
                                    "\n");
    write_file(at / "sample.txt", "The <keeper> & \xFF friend");
    write_file(at / "scheme.txt", "x -> norm -> F");
    return at;
  }

  std::string page(const std::vector<fs::path>& runs) const {
    write_report(runs, root_ / "report.html");
    auto text = read_file(root_ / "report.html");
    EXPECT_EQ(xml_error(text), "");
    return text;
  }

 private:
  const fs::path root_ = fs::path(::testing::TempDir()) / "evenkeel_report_test";
};

bool has(const std::string& page, const std::string& piece) {
  return page.find(piece) != std::string::npos;
}

std::string tile(const std::string& page, const std::string& name) {
  const auto start = page.find("<dt>" + name + "</dt><dd class=\"value\">");
  if (start == std::string::npos) return "no such tile";
  return element_contents(page.substr(start), "<dd class=\"value\">").front();
}

TEST_F(Report, NeedsNothingFromTheNetwork) {
  const auto text = without_namespaces(page({run("one", "pre_ln", 0.75)}));
  for (const char* piece : {"http://", "https://", "src=", "href=", "url(", "@import", "fetch(",
                            "XMLHttpRequest", "WebSocket", "EventSource", "import("}) {
    EXPECT_FALSE(has(text, piece)) << piece;
  }
  EXPECT_TRUE(has(text, "content=\"default-src 'none';"));
  EXPECT_EQ(element_contents(text, "<script>").size(), 2U);
}

// gap = 0.75 - 0.5 nats per byte, 0.25 / ln 2 = 0.3607 bits; 100 steps of 0.5 s
TEST_F(Report, SaysHowTheRunEnded) {
  const auto text = page({run("one", "pre_ln", 0.75)});
  EXPECT_EQ(element_contents(text, "<p class=\"verdict\">").front(),
            "Validation loss 0.7500 nats per token: <strong>0.2500 nats (0.3607 bits) a byte above "
            "the entropy floor</strong> of 0.5000 after 100 steps.");
  EXPECT_EQ(element_contents(text, "<h1>").front(), "one");
  EXPECT_TRUE(has(text, "pre_ln · preset tiny · "));
  EXPECT_EQ(tile(text, "Gap to the floor"), "0.2500");
  EXPECT_EQ(tile(text, "Training time"), "0:50");
  EXPECT_EQ(tile(text, "Throughput"), "2.0k");
  EXPECT_EQ(tile(text, "Peak memory"), "1.0 MiB");
  EXPECT_TRUE(has(text, "Clipped in 20 % of the logged steps."));
}

// Every fifth logged step takes 2 s more, for a probe: 100 steps of 0.5 s and 2 probes.
TEST_F(Report, CountsTheProbeOfALoggedStepOnce) {
  const auto at = run("probed", "pre_ln", 0.75);
  std::string metrics;
  for (int step = 10; step <= 100; step += 10) {
    metrics +=
        json{{"step", step}, {"loss", 1}, {"step_s", step % 50 == 0 ? 2.5 : 0.5}}.dump() + "\n";
  }
  write_file(at / "metrics.jsonl", metrics);
  EXPECT_EQ(tile(page({at}), "Training time"), "0:54");
}

TEST_F(Report, DrawsTheEntropyFloor) {
  const auto text = page({run("one", "pre_ln", 0.75)});
  EXPECT_TRUE(has(text, ">entropy floor 0.5000</text>"));
  EXPECT_TRUE(has(text, ">clipped above 1.0</text>"));
}

// A token of two bytes: loss of a token 2, of a byte floor + gap = 1, so the floor is 2 * 0.75.
TEST_F(Report, DrawsTheFloorInNatsAToken) {
  const auto at = folder("pairs");
  write_file(at / "metrics.jsonl",
             "{\"step\": 5, \"val_loss\": 2, \"val_floor\": 0.75, \"val_gap\": 0.25}\n");
  EXPECT_TRUE(has(page({at}), ">entropy floor 1.5000</text>"));
}

TEST_F(Report, SaysThatOnlyAnswersAreScoredWhereTheyAreCounted) {
  const auto at = run("a", "pre_norm", 1);
  EXPECT_EQ(page({at}).find("answers alone"), std::string::npos);
  const json record = {{"step", 100}, {"val_loss", 1.0}, {"val_exact", 0.25}, {"ood_exact", 0.125}};
  write_file(at / "metrics.jsonl", read_file(at / "metrics.jsonl") + record.dump() + "\n");
  const auto with = page({at});
  EXPECT_NE(with.find("validation, answers alone"), std::string::npos);
  EXPECT_NE(with.find("Answers right"), std::string::npos);
}

TEST_F(Report, EscapesWhatTheFilesSay) {
  const auto text = page({run("one", "pre_ln", 0.75)});
  EXPECT_TRUE(has(text, "The &lt;keeper&gt; &amp; \xEF\xBF\xBD friend"));
  EXPECT_TRUE(has(text, "<td class=\"key-name\">data.digest</td><td class=\"text\">&lt;ab&gt;"));
  EXPECT_TRUE(has(text, "9 &gt; 6"));
  EXPECT_TRUE(has(text, "x -&gt; norm -&gt; F"));
  EXPECT_TRUE(has(text, "scheme = &quot;pre_ln&quot;\n[optimizer]\nclip = 1.0\n</pre>"));
}

TEST_F(Report, SaysWhatIsMissingWhereItIsMissing) {
  const auto at = folder("bare");
  write_file(at / "run.toml", "scheme = \"pre_ln\"\n");
  const auto missing = element_contents(page({at}), "<p class=\"missing\">");
  const std::vector<std::string> want(5, "No data: metrics.jsonl is missing");
  EXPECT_EQ(std::vector<std::string>(missing.begin(), missing.begin() + 5), want);
  EXPECT_EQ(std::vector<std::string>(missing.begin() + 5, missing.end()),
            (std::vector<std::string>{"sample.txt is missing", "provenance.json is missing"}));
}

TEST_F(Report, ShowsTheRestOfARunWithDamagedFiles) {
  const auto at = run("torn", "pre_ln", 0.75);
  write_file(at / "run.toml", "scheme = \n");
  write_file(at / "provenance.json", "{\"torch\": ");
  write_file(at / "status.json", "[]");
  const auto text = page({at});
  EXPECT_TRUE(has(text, "run.toml cannot be read: line 1: "));
  EXPECT_TRUE(has(text, "provenance.json cannot be read: wanted a JSON object"));
  EXPECT_TRUE(has(text, "state unknown"));
  EXPECT_EQ(tile(text, "Validation loss"), "0.7500");
}

TEST_F(Report, TellsARunInTrainingFromOneWhoseProcessEnded) {
  const auto at = run("alive", "pre_ln", 0.75);
  write_file(at / "status.json", R"({"state": "training", "step": 100, "steps": 200})");
  {
    const store::Lock lock(at);
    EXPECT_TRUE(has(page({at}), ">in training<"));
  }
  const auto text = page({at});
  EXPECT_TRUE(has(text, ">interrupted<"));
  EXPECT_FALSE(has(text, ">in training<"));
}

TEST_F(Report, ShowsTheLoadOfTheExpertsOfAMixture) {
  const auto at = run("mixture", "hybrid_norm", 1);
  std::string metrics;
  for (int step = 10; step <= 20; step += 10) {
    metrics += json{{"step", step},
                    {"loss", 2},
                    {"balance_loss", 1.25},
                    {"load_max", 2.5},
                    {"dead_experts", 0.25},
                    {"routing_entropy", 1},
                    {"expert_blocks", {2, 3}},
                    {"tokens_per_expert", {{10, 20, 30, 20}, {0, 80, 0, 0}}}}
                   .dump() +
               "\n";
  }
  write_file(at / "metrics.jsonl", metrics);
  const auto one = page({at});
  EXPECT_NE(one.find("Load of the experts"), std::string::npos);
  EXPECT_NE(one.find("block 2, expert 3: 1.5<"), std::string::npos);
  EXPECT_NE(one.find("block 3, expert 2: 4<"), std::string::npos);
  json wide = {{"step", 30}, {"loss", 2}, {"load_max", 4}, {"expert_blocks", {1}}};
  wide["tokens_per_expert"] = {std::vector<int>(128, 1)};
  wide["tokens_per_expert"][0][127] = 129;  // of 256: 64.5 times the mean
  write_file(at / "metrics.jsonl", metrics + wide.dump() + "\n");
  EXPECT_NE(page({at}).find("block 1, experts from 127: 64.5<"), std::string::npos);
  const auto dense = run("dense", "hybrid_norm", 1);
  EXPECT_EQ(page({dense}).find("Load of the experts"), std::string::npos);
  EXPECT_NE(page({at, dense}).find("Busiest expert"), std::string::npos);
}

TEST_F(Report, TakesNullForAGap) {
  const auto at = folder("gaps");
  write_file(at / "metrics.jsonl",
             "{\"step\": 1, \"loss\": 3, \"lr\": null}\n{\"step\": 2, \"loss\": null}\n"
             "{\"step\": 3, \"loss\": 2, \"grad_norm\": null, \"val_loss\": null}\n");
  const auto text = page({at});
  EXPECT_EQ(tile(text, "Training loss"), "2.0000");
  EXPECT_EQ(tile(text, "Validation loss"), "not finite");
  EXPECT_TRUE(has(text, "No data: metrics.jsonl has no lr"));
}

TEST_F(Report, RefusesAFolderThatIsNotARuns) {
  const auto at = folder("other");
  try {
    write_report({at}, at / "report.html");
    FAIL() << "a report of nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::no_checkpoint);
    EXPECT_EQ(std::string(error.what()),
              at.string() +
                  ": not a run folder (no run.toml, no metrics.jsonl); name a folder under runs/");
  }
  EXPECT_FALSE(fs::exists(at / "report.html"));
}

TEST_F(Report, IsSmallForALongRun) {
  const auto at = folder("long");
  std::string metrics;
  for (int step = 1; step <= 50000; ++step) {
    metrics += json{{"step", step},
                    {"loss", 2 + std::sin(step)},
                    {"lr", 1e-3},
                    {"grad_norm", 1 + 0.5 * std::cos(step)},
                    {"tokens_per_s", 1000 + step % 7},
                    {"val_loss", 2 + std::cos(step)}}
                   .dump() +
               "\n";
  }
  write_file(at / "metrics.jsonl", metrics);
  EXPECT_LT(page({at}).size(), 400000u);
}

TEST_F(Report, ComparesRunsInTheOrderOfTheirValidationLoss) {
  const auto late = folder("d_new");
  write_file(late / "run.toml", "scheme = \"mix_ln\"\n");
  const auto text = page({late, run("a_post", "post_ln", 0.9), run("b_hybrid", "hybrid_norm", 0.6),
                          run("c_pre", "pre_ln", 0.75)});
  EXPECT_EQ(
      element_contents(text, "<p class=\"verdict\">").front(),
      "<strong>b_hybrid</strong> has the lowest validation loss: 0.6000 nats per token, 0.1500 "
      "below c_pre. <span class=\"muted\">A difference between single runs may be noise of the "
      "seed: compare several seeds before one is called better.</span>");
  const auto b = text.find("</svg> b_hybrid"), c = text.find("</svg> c_pre"),
             a = text.find("</svg> a_post"), d = text.find("</svg> d_new");
  EXPECT_LT(b, c);
  EXPECT_LT(c, a);
  EXPECT_LT(a, d);
  EXPECT_NE(d, std::string::npos);
  EXPECT_TRUE(has(text, ">entropy floor 0.5000</text>"));
  EXPECT_FALSE(has(without_namespaces(text), "://"));
}

TEST_F(Report, CallsNoRunTheBestWhereTheRunsDoNotCompare) {
  const auto at = run("b", "pre_ln", 0.6);
  const auto verdict = [&] {
    return element_contents(page({run("a", "post_ln", 0.9), at}), "<p class=\"verdict\">").front();
  };
  const auto differs_in = [](const std::string& what) {
    return "No run is called the best: the runs differ in <strong>" + what +
           "</strong>. Their validation losses cannot be compared.";
  };
  write_file(at / "run.toml", "[model]\ncontext = 7\n[evaluate]\nsequences = 3\n");
  EXPECT_EQ(verdict(), differs_in("context, validation sequences"));
  EXPECT_FALSE(has(page({run("a", "post_ln", 0.9), at}), "class=\"best\""));
  write_file(at / "run.toml", "");
  write_file(at / "provenance.json", R"({"data": {"validation_digest": "other"}})");
  EXPECT_EQ(verdict(), differs_in("validation text"));
  std::filesystem::remove(at / "provenance.json");
  auto metrics = read_file(at / "metrics.jsonl");
  write_file(at / "metrics.jsonl", metrics + "{\"step\": 110, \"tokens\": 11000}\n");
  EXPECT_EQ(verdict(), differs_in("steps, tokens"));
}

TEST_F(Report, DrawsTheFloorOnlyIfAllRunsShareIt) {
  const auto at = folder("b");
  write_file(at / "metrics.jsonl", "{\"step\": 5, \"val_loss\": 2}\n");
  const auto text = page({run("a", "post_ln", 0.9), at});
  EXPECT_FALSE(has(text, ">entropy floor 0.5000</text>"));
}

TEST_F(Report, NamesTheKeysThatDifferBetweenRuns) {
  const auto text = page({run("a", "post_ln", 0.9), run("b", "pre_ln", 0.6)});
  EXPECT_EQ(element_contents(text, "<td class=\"key-name\">"),
            (std::vector<std::string>{"scheme"}));
  EXPECT_TRUE(has(text, "<td class=\"text\">pre_ln</td><td class=\"text\">post_ln</td>"));
  EXPECT_TRUE(has(text, "The runs were made in the same environment."));
}

TEST_F(Report, TellsSchemesByNameIfOneStandsByItsName) {
  const auto own = [&](const char* name, const std::string& more) {
    const auto at = folder(name);
    write_file(at / "run.toml", text("[scheme]\nname = \"mine\"\nfinal = \"norm\"\n", more));
    return at;
  };
  const auto named = folder("a");
  write_file(named / "run.toml", "scheme = \"post_ln\"\n");
  const auto mixed = page({named, own("b", "")});
  EXPECT_EQ(element_contents(mixed, "<td class=\"key-name\">"),
            (std::vector<std::string>{"scheme"}));
  EXPECT_TRUE(has(mixed, ">post_ln</td><td class=\"text\">mine, written out in run.toml</td>"));
  const auto tables = page({own("c", ""), own("d", "norm = \"layer_norm\"\n")});
  EXPECT_EQ(element_contents(tables, "<td class=\"key-name\">"),
            (std::vector<std::string>{"scheme.norm"}));
}

TEST_F(Report, NamesARunAfterItsFolder) {
  const auto at = run("one", "pre_ln", 0.75);
  EXPECT_EQ(element_contents(page({at / ""}), "<h1>").front(), "one");
}

}  // namespace
}  // namespace evenkeel::report
