// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/request_file.h"

#include <nlohmann/json.hpp>

#include "data/gzipped.h"
#include "data/refusal.h"
#include "data/temporary_folder.h"

namespace evenkeel::tasks {
namespace {

using nlohmann::json;

/// A row of a request file, as OLMES writes it.
json request(std::int64_t document, std::int64_t choice, const json& label,
             const std::string& continuation, const std::string& context = "Q") {
  return {{"request_type", "loglikelihood"},
          {"doc", {{"query", context}}},
          {"request", {{"context", context}, {"continuation", continuation}}},
          {"idx", choice},
          {"doc_id", document},
          {"native_id", nullptr},
          {"label", label}};
}

std::string lines(const std::vector<json>& rows) {
  std::string all;
  for (const auto& row : rows) all += row.dump() + "\n";
  return all;
}

class Requests : public data::TemporaryFolder {
 protected:
  RequestFile read(const std::string& content, Metric metric = Metric::acc) const {
    return read_request_file(file("a.jsonl", content), metric);
  }
  std::string refused(const std::string& content, Metric metric = Metric::acc) const {
    const auto found = data::refusal([&] { read(content, metric); });
    return found == "no refusal" ? found : found.substr(path("").size());
  }
  /// The refusal of one row, after a change.
  std::string refused_row(const std::function<void(json&)>& change) const {
    auto row = request(0, 0, 0, " a");
    change(row);
    return refused(row.dump());
  }
};

TEST_F(Requests, AreGroupedByDocumentInTheOrderOfIds) {
  const auto found = read(lines({request(3, 0, 1, " a"), request(3, 1, 1, " b"),
                                 request(1, 1, 0, " d", "R"), request(1, 0, 0, " c", "R")}) +
                          "\n \r\n");
  ASSERT_EQ(found.documents.size(), 2U);
  EXPECT_EQ(found.documents[0].id, 1);
  EXPECT_EQ(found.documents[0].gold, 0U);
  ASSERT_EQ(found.documents[0].rows.size(), 2U);
  EXPECT_EQ(found.documents[0].rows[1].context, "R");
  EXPECT_EQ(found.documents[0].rows[1].continuation, " d");
  EXPECT_EQ(found.documents[1].id, 3);
  EXPECT_EQ(found.documents[1].gold, 1U);
  EXPECT_EQ(found.skipped_rows, 0);
}

TEST_F(Requests, WithoutAContextAreCountedAndSkipped) {
  const auto found =
      read(lines({request(0, 0, 0, " a"), {{"doc_id", 1000000}}, request(1234567, 0, 5, "")}));
  EXPECT_EQ(found.documents.size(), 1U);
  EXPECT_EQ(found.skipped_rows, 2);
  EXPECT_EQ(refused(lines({{{"doc_id", 1000000}}})),
            "a.jsonl: must have a row with a \"doc_id\" below 1000000, but has none");
}

TEST_F(Requests, ThatAreRepeatedCountOnce) {
  const auto found =
      read(lines({request(0, 0, 0, " a"), request(0, 1, 0, " b"), request(0, 0, 0, " a")}));
  EXPECT_EQ(found.documents.at(0).rows.size(), 2U);
  EXPECT_EQ(refused(lines({request(7, 0, 0, " a"), request(7, 0, 0, " b")})),
            "a.jsonl:2: document 7: choice 0 must have the text of line 1, but has another; give "
            "every row its own \"doc_id\" and \"idx\"");
  EXPECT_EQ(refused(lines({request(7, 0, 0, " a"), request(7, 0, 0, " a", "other")})),
            "a.jsonl:2: document 7: choice 0 must have the text of line 1, but has another; give "
            "every row its own \"doc_id\" and \"idx\"");
}

TEST_F(Requests, MayHaveContextsOfTheirOwnAndAnyCharacters) {
  const auto found = read(lines(
      {request(0, 0, 0, " \xc3\xa9\n\xf0\x9f\x98\x80", "A"), request(0, 1, 0, "no space", "")}));
  EXPECT_EQ(found.documents.at(0).rows[0].continuation, " \xc3\xa9\n\xf0\x9f\x98\x80");
  EXPECT_EQ(found.documents.at(0).rows[1].context, "");
}

TEST_F(Requests, OfGoldMetricsAreTheRowsOfTheLabel) {
  for (const auto metric : {Metric::bpb, Metric::ce_loss}) {
    const auto found = read(lines({request(0, 0, 1, " a"), request(0, 1, 1, " b")}), metric);
    ASSERT_EQ(found.documents.at(0).rows.size(), 1U);
    EXPECT_EQ(found.documents[0].rows[0].continuation, " b");
    EXPECT_EQ(found.documents[0].gold, 0U);
  }
}

TEST_F(Requests, MayHaveAnswersAsLabelForGoldMetrics) {
  const auto content =
      lines({request(0, 0, "42", " a"), request(1, 0, json::array({"x", "y"}), " b"),
             request(2, 0, nullptr, " c")});
  const auto found = read(content, Metric::bpb);
  ASSERT_EQ(found.documents.size(), 3U);
  EXPECT_EQ(found.documents[1].rows.at(0).continuation, " b");
  EXPECT_EQ(refused(content),
            "a.jsonl:1: document 0: \"label\" must be the index of a choice for the metric acc, "
            "but is a string; write a number, as 0");
  EXPECT_EQ(refused(lines({request(1, 0, json::array({"x"}), " b")})),
            "a.jsonl:1: document 1: \"label\" must be the index of a choice for the metric acc, "
            "but is a list of answers");
  EXPECT_EQ(refused(lines({request(2, 0, nullptr, " c")}), Metric::len_norm),
            "a.jsonl:1: document 2: \"label\" must be the index of a choice for the metric "
            "len_norm, but is null");
}

TEST_F(Requests, AreRefusedWithALabelOutsideOfTheChoices) {
  for (const auto metric : {Metric::acc, Metric::bpb}) {
    EXPECT_EQ(refused(lines({request(4, 0, 2, " a"), request(4, 1, 2, " b")}), metric),
              "a.jsonl:1: document 4: \"label\" must be the index of a choice, 0 to 1, but is 2");
  }
  EXPECT_EQ(refused(lines({request(4, 0, 1, " a"), request(4, 1, 0, " b")})),
            "a.jsonl:2: document 4: \"label\" must be that of line 1, but differs");
}

TEST_F(Requests, AreRefusedWhereAChoiceIsMissing) {
  EXPECT_EQ(
      refused(lines({request(0, 0, 0, " a"), request(5, 0, 0, " a"), request(5, 2, 0, " c")})),
      "a.jsonl:3: document 5: choice 1 is missing before choice 2");
  EXPECT_EQ(refused(lines({request(5, 1, 1, " b")}), Metric::bpb),
            "a.jsonl:1: document 5: choice 0 is missing before choice 1");
}

TEST_F(Requests, AreRefusedWithoutAKey) {
  EXPECT_EQ(refused_row([](json& row) { row.erase("idx"); }),
            "a.jsonl:1: document 0: \"idx\" must be an integer of at least 0, but is missing");
  EXPECT_EQ(refused_row([](json& row) { row.erase("doc_id"); }),
            "a.jsonl:1: \"doc_id\" must be an integer of at least 0, but is missing");
  EXPECT_EQ(refused_row([](json& row) { row.erase("label"); }),
            "a.jsonl:1: document 0: \"label\" must be the index of a choice, but is missing");
  EXPECT_EQ(refused_row([](json& row) { row.erase("request"); }),
            "a.jsonl:1: document 0: \"request\" must be an object, but is missing");
  EXPECT_EQ(refused_row([](json& row) { row["request"].erase("context"); }),
            "a.jsonl:1: document 0: \"context\" must be a string, but is missing");
  EXPECT_EQ(refused_row([](json& row) { row["request"].erase("continuation"); }),
            "a.jsonl:1: document 0: \"continuation\" must be a string, but is missing");
}

TEST_F(Requests, AreRefusedWithAValueOfAnotherType) {
  EXPECT_EQ(refused_row([](json& row) { row["idx"] = -1; }),
            "a.jsonl:1: document 0: \"idx\" must be an integer of at least 0, but is -1");
  EXPECT_EQ(refused_row([](json& row) { row["idx"] = 0.5; }),
            "a.jsonl:1: document 0: \"idx\" must be an integer of at least 0, but is 0.5");
  EXPECT_EQ(refused_row([](json& row) { row["doc_id"] = "0"; }),
            "a.jsonl:1: \"doc_id\" must be an integer of at least 0, but is \"0\"");
  EXPECT_EQ(refused_row([](json& row) { row["doc_id"] = 18446744073709551615U; }),
            "a.jsonl:1: \"doc_id\" must be below 2^63, but is 18446744073709551615");
  EXPECT_EQ(refused_row([](json& row) { row["label"] = true; }),
            "a.jsonl:1: document 0: \"label\" must be the index of a choice, but is true");
  EXPECT_EQ(refused_row([](json& row) { row["label"] = -1; }),
            "a.jsonl:1: document 0: \"label\" must be the index of a choice, but is -1");
  EXPECT_EQ(refused_row([](json& row) { row["request"] = "text"; }),
            "a.jsonl:1: document 0: \"request\" must be an object, but is \"text\"");
  EXPECT_EQ(refused_row([](json& row) { row["request"]["context"] = json::array({1}); }),
            "a.jsonl:1: document 0: \"context\" must be a string, but is of type array");
  EXPECT_EQ(refused_row([](json& row) { row["request_type"] = "generate_until"; }),
            "a.jsonl:1: document 0: \"request_type\" must be \"loglikelihood\", but is "
            "\"generate_until\"");
}

TEST_F(Requests, AreRefusedWithAnEmptyContinuation) {
  EXPECT_EQ(refused(lines({request(0, 0, 0, " a"), request(0, 1, 0, "")})),
            "a.jsonl:2: document 0: the continuation of choice 1 must be a text, but is empty");
}

TEST_F(Requests, MayLackARequestTypeAndHaveLargeNumbersElsewhere) {
  auto row = request(0, 0, 0, " a");
  row.erase("request_type");
  auto line = row.dump();
  line.insert(1, "\"x\": 123456789012345678901234567890, ");
  EXPECT_EQ(read(line).documents.at(0).rows.at(0).continuation, " a");
  row["request_type"] = "generate_until_and_loglikelihood";
  EXPECT_EQ(read(row.dump()).documents.size(), 1U);
}

TEST_F(Requests, TakeTheLastOfSeveralEqualKeys) {
  auto line = request(3, 0, 0, " a").dump();
  line.insert(1, "\"doc_id\": 1000000, \"idx\": 7, \"request\": {}, ");
  line.insert(line.size() - 1, ", \"label\": 0");
  const auto found = read(line);
  EXPECT_EQ(found.documents.at(0).id, 3);
  EXPECT_EQ(found.skipped_rows, 0);
}

TEST_F(Requests, AreRefusedAsTextsThatAreNoJson) {
  const auto good = request(0, 0, 0, " a").dump() + "\n";
  EXPECT_EQ(refused(good + "{\"doc_id\": oops}"),
            "a.jsonl:2: must be JSON, but is not at column 12");
  EXPECT_EQ(refused("{\"doc_id\": 0, \"x\": \"a\\ud83d\"}"),
            "a.jsonl:1: must have no lone surrogate, but has one at column 22; write \\ufffd in "
            "its place");
  EXPECT_EQ(refused("[1]"), "a.jsonl:1: must be an object, but is of type array");
  EXPECT_EQ(refused("{\"doc_id\": " + std::string(65, '[') + std::string(65, ']') + "}"),
            "a.jsonl:1: must be nested at most 64 deep, but is deeper");
  EXPECT_EQ(refused(good + "{\"doc_id\": \"\xff\"}"),
            text("a.jsonl:2: must be UTF-8, but byte ", good.size() + 12,
                 " is 0xff; convert it, for example with iconv"));
  EXPECT_EQ(refused(""), "a.jsonl: must have a JSON object per line, but is empty");
}

TEST_F(Requests, AreReadFromGzipThatIsWhole) {
  const auto packed = data::gzipped(lines({request(0, 0, 0, " a"), request(0, 1, 0, " b")}));
  EXPECT_EQ(read(packed).documents.at(0).rows.size(), 2U);
  EXPECT_EQ(refused(packed.substr(0, packed.size() - 9)),
            text("a.jsonl: the gzip data end too early, after ", packed.size() - 9,
                 " bytes; copy or download the file again"));
}

TEST_F(Requests, ThatEndTooEarlyAreRefusedWithTheirLine) {
  const auto row = request(0, 0, 0, std::string(std::size_t{1} << 19, 'a')).dump() + "\n";
  const auto packed = data::gzipped(row + row + row + row);
  const auto found = refused(packed.substr(0, packed.size() - 9));
  EXPECT_TRUE(found.starts_with("a.jsonl: the gzip data end too early")) << found;
  EXPECT_TRUE(found.ends_with(" (in line 4)")) << found;
}

TEST_F(Requests, AreRefusedWhereTheFileIsMissing) {
  EXPECT_EQ(data::refusal([&] { read_request_file(path("none.jsonl"), Metric::acc); }),
            path("none.jsonl") + ": cannot open: No such file or directory");
}

class MetricOfConfig : public data::TemporaryFolder {
 protected:
  Metric metric(const json& config) const {
    file("config.json", config.dump());
    return metric_of_config(path("requests.jsonl.gz"));
  }
};

TEST_F(MetricOfConfig, IsThatOfTheTaskOrAcc) {
  EXPECT_EQ(metric_of_config(path("requests.jsonl.gz")), Metric::acc);
  EXPECT_EQ(metric({{"task_config", {{"primary_metric", "acc_per_char"}}}}), Metric::len_norm);
  EXPECT_EQ(metric({{"task_config", {{"primary_metric", "bpb"}}}}), Metric::bpb);
  EXPECT_EQ(metric({{"task_config", {{"num_shots", 5}}}}), Metric::acc);
  EXPECT_EQ(metric(json::array()), Metric::acc);
}

TEST_F(MetricOfConfig, IsRefusedIfItIsUnknown) {
  const auto refused = [&](const json& name) {
    return data::refusal([&] { metric({{"task_config", {{"primary_metric", name}}}}); })
        .substr(path("").size());
  };
  EXPECT_EQ(refused("acc_uncond"),
            "config.json: task_config.primary_metric: no metric is named \"acc_uncond\"; known: "
            "acc, bpb, ce_loss, f1, len_norm");
  EXPECT_EQ(refused("len_nrm"),
            "config.json: task_config.primary_metric: no metric is named \"len_nrm\"; did you mean "
            "\"len_norm\"? known: acc, bpb, ce_loss, f1, len_norm");
  EXPECT_EQ(refused(3),
            "config.json: task_config.primary_metric: no metric is named \"3\"; known: acc, bpb, "
            "ce_loss, f1, len_norm");
  file("config.json", "{");
  EXPECT_EQ(data::refusal([&] { metric_of_config(path("x.jsonl")); }),
            path("config.json") + ": must be JSON, but is not at column 2");
}

}  // namespace
}  // namespace evenkeel::tasks
