// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/request_file.h"

#include <map>
#include <optional>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/data/text_window.h"
#include "evenkeel/tasks/metric.h"
#include "evenkeel/tasks/request_line.h"

namespace evenkeel::tasks {

namespace {

constexpr std::uint64_t kMaxRequestBytes = std::uint64_t{64} << 20;

const char* described(LabelType type) {
  switch (type) {
    case LabelType::null:
      return "null";
    case LabelType::choice:
      return "a choice";
    case LabelType::string:
      return "a string; write a number, as 0";
    case LabelType::list:
      return "a list of answers";
  }
  return "";
}

struct PendingRow {
  Row row;
  std::int64_t line = 0;
};

/// The rows of a document that were read so far.
struct PendingDocument {
  std::map<std::int64_t, PendingRow> rows;  // by choice
  std::optional<std::int64_t> label;
  LabelType label_type = LabelType::null;
  std::int64_t line = 0;  // of its first row
};

/// Collects the rows of a file by document.
class RequestCollector {
 public:
  RequestCollector(std::string path, Metric metric) : path_(std::move(path)), metric_(metric) {}

  void add(const Request& request, std::int64_t line) {
    if (request.is_unconditional()) {
      ++skipped_rows_;
      return;
    }
    auto& document = documents_[request.document];
    if (document.rows.empty()) {
      document.label = request.label;
      document.label_type = request.label_type;
      document.line = line;
    }
    check_label_of(document, request, line);
    const auto found = document.rows.find(request.choice);
    if (found == document.rows.end()) {
      document.rows[request.choice] = {
          {std::string(request.context), std::string(request.continuation)}, line};
    } else if (found->second.row.context != request.context ||
               found->second.row.continuation != request.continuation) {
      refuse_row(line, request.document, "choice ", request.choice, " must have the text of line ",
                 found->second.line,
                 ", but has another; give every row its own \"doc_id\" and \"idx\"");
    }
  }

  RequestFile finish() {
    RequestFile file = {.documents = {}, .skipped_rows = skipped_rows_};
    for (auto& [id, pending] : documents_) file.documents.push_back(document_of(id, pending));
    if (file.documents.empty() && skipped_rows_ == 0) {
      throw Error(Exit::data, text(path_, ": must have a JSON object per line, but is empty"));
    }
    if (file.documents.empty()) {
      throw Error(Exit::data, text(path_, ": must have a row with a \"doc_id\" below ",
                                   kFirstUnconditionalId, ", but has none"));
    }
    return file;
  }

 private:
  template <typename... Parts>
  [[noreturn]] void refuse_row(std::int64_t line, std::int64_t id, const Parts&... parts) const {
    throw Error(Exit::data, text(path_, ":", line, ": document ", id, ": ", parts...));
  }

  /// Refuses a label that differs from the one of the document's first row.
  void check_label_of(const PendingDocument& document, const Request& request,
                      std::int64_t line) const {
    if (document.label == request.label && document.label_type == request.label_type) return;
    refuse_row(line, request.document, "\"label\" must be that of line ", document.line,
               ", but differs");
  }

  Document document_of(std::int64_t id, PendingDocument& pending) const {
    Document document = {.id = id};
    for (auto& [choice, each] : pending.rows) {
      const auto expected = static_cast<std::int64_t>(document.rows.size());
      if (choice != expected) {
        refuse_row(each.line, id, "choice ", expected, " is missing before choice ", choice);
      }
      document.rows.push_back(std::move(each.row));
    }
    document.gold = gold_of(id, pending);
    if (scores_gold_alone(metric_)) {
      document.rows = {std::move(document.rows[document.gold])};
      document.gold = 0;
    }
    return document;
  }

  std::size_t gold_of(std::int64_t id, const PendingDocument& pending) const {
    if (!pending.label && scores_gold_alone(metric_)) return 0;
    if (!pending.label) {
      refuse_row(pending.line, id, "\"label\" must be the index of a choice for the metric ",
                 name_of(metric_), ", but is ", described(pending.label_type));
    }
    const auto choices = static_cast<std::int64_t>(pending.rows.size());
    if (*pending.label >= choices) {
      refuse_row(pending.line, id, "\"label\" must be the index of a choice, 0 to ", choices - 1,
                 ", but is ", *pending.label);
    }
    return static_cast<std::size_t>(*pending.label);
  }

  std::string path_;
  Metric metric_;
  std::map<std::int64_t, PendingDocument> documents_;
  std::int64_t skipped_rows_ = 0;
};

}  // namespace

namespace {

/// The next line, with its number in the message of a damaged file.
std::optional<std::string_view> line_of(data::TextWindow& window, std::int64_t number) {
  try {
    return window.line();
  } catch (const Error& error) {
    throw Error(error.exit(), text(error.what(), " (in line ", number, ")"));
  }
}

}  // namespace

RequestFile read_request_file(const std::string& path, Metric metric) {
  data::TextWindow window(path, kMaxRequestBytes);
  RequestParser parser;
  RequestCollector collector(path, metric);
  for (std::int64_t number = 1;; ++number) {
    const auto line = line_of(window, number);
    if (!line) break;
    if (line->find_first_not_of(" \t\r") != std::string_view::npos) {
      collector.add(parser.parse(*line, {.path = path, .line = number, .offset = window.offset()}),
                    number);
    }
    window.consume_line(line->size());
  }
  return collector.finish();
}

std::filesystem::path config_of_requests(const std::filesystem::path& request_file) {
  return request_file.parent_path() / "config.json";
}

Metric metric_of_config(const std::filesystem::path& request_file) {
  const auto path = config_of_requests(request_file);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Metric::acc;
  const auto config = parse_json(read_file(path), path.string());
  const auto task = config.is_object() ? config.value("task_config", nlohmann::json()) : config;
  if (!task.is_object() || !task.contains("primary_metric")) return Metric::acc;
  const auto& name = task["primary_metric"];
  const auto found = name.is_string() ? find_metric(name.get<std::string>()) : std::nullopt;
  if (found) return *found;
  const auto wanted = name.is_string() ? name.get<std::string>() : name.dump();
  throw Error(Exit::data, text(path.string(), ": task_config.primary_metric: no metric is named \"",
                               printable_line(wanted), "\"", did_you_mean(wanted, metric_names())));
}

}  // namespace evenkeel::tasks
