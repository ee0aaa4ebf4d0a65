// SPDX-License-Identifier: Apache-2.0
#include "report/xml_check.h"

#include <cctype>

#include "evenkeel/base/replace_all.h"

namespace evenkeel::report {

namespace {

std::string tag_name(const std::string& tag) {
  std::size_t end = 0;
  while (end < tag.size() && (std::isalnum(static_cast<unsigned char>(tag[end])) != 0)) ++end;
  return tag.substr(0, end);
}

/// Every `=` outside quotes is followed by a quote, and quotes are closed.
bool has_quoted_attributes(const std::string& tag) {
  bool quoted = false;
  for (std::size_t at = 0; at < tag.size(); ++at) {
    if (tag[at] == '"') quoted = !quoted;
    if (tag[at] == '=' && !quoted && (at + 1 == tag.size() || tag[at + 1] != '"')) return false;
  }
  return !quoted;
}

std::string xml_error_of_text(const std::string& text) {
  if (text.find('>') != std::string::npos) return "bare > in: " + text;
  for (auto at = text.find('&'); at != std::string::npos; at = text.find('&', at + 1)) {
    const auto end = text.find(';', at);
    if (end == std::string::npos || end - at > 6) return "bare & in: " + text;
  }
  return {};
}

}  // namespace

std::string xml_error(const std::string& page) {
  const std::string type = "<!DOCTYPE html>";
  const bool is_page = page.rfind(type, 0) == 0;
  if (!is_page && page.rfind("<html", 0) == 0) return "no document type";
  std::vector<std::string> open;
  std::size_t at = is_page ? type.size() : 0;
  while (at < page.size()) {
    const bool is_raw = !open.empty() && (open.back() == "style" || open.back() == "script");
    const auto start = page.find(is_raw ? "</" + open.back() + ">" : "<", at);
    const auto text = page.substr(at, start == std::string::npos ? start : start - at);
    if (const auto fault = xml_error_of_text(text); !fault.empty() && !is_raw) return fault;
    if (start == std::string::npos) break;
    const auto end = page.find('>', start);
    if (end == std::string::npos) return "a tag without end";
    const auto tag = page.substr(start + 1, end - start - 1);
    at = end + 1;
    if (!has_quoted_attributes(tag)) return "attributes of <" + tag + ">";
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected <" + tag + ">";
      open.pop_back();
    } else if (tag_name(tag).empty()) {
      return "a bare <";
    } else if (tag.back() != '/') {
      open.push_back(tag_name(tag));
    }
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

std::string without_namespaces(const std::string& page) {
  return replace_all(page, "http://www.w3.org/2000/svg", "");
}

std::vector<std::string> element_contents(const std::string& page, const std::string& start) {
  const auto close = "</" + tag_name(start.substr(1)) + ">";
  std::vector<std::string> found;
  for (auto at = page.find(start); at != std::string::npos; at = page.find(start, at + 1)) {
    const auto begin = at + start.size();
    found.push_back(page.substr(begin, page.find(close, begin) - begin));
  }
  return found;
}

}  // namespace evenkeel::report
