// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::report {

/// The notes below the figure of a scheme, and the marks that refer to them.
class BlockNotes {
 public:
  /// A superscript number for a text; equal texts have the same number. "" for an empty text.
  std::string mark(const std::string& note);
  /// The text of a factor: "× 0.5"; "× α" with a note if the formula is long or learned.
  std::string factor(const norm::Number& number);
  /// Adds a note without a mark.
  void add(const std::string& note) { plain_.push_back(note); }
  /// All notes, in the order of their marks; those without a mark last.
  std::vector<std::string> lines() const;

 private:
  std::vector<std::string> marked_, symbols_, plain_;
};

/// The fields of a norm that differ from the defaults of its kind; "" without any.
std::string norm_details(const norm::Norm& norm);

/// A formula for people: "sqrt(2*l)" becomes "√(2·l)".
std::string formula_text(const std::string& formula);

/// Notes on the parts of a scheme that have no place in a block: reparameterized weights, hooks.
std::vector<std::string> scheme_notes(const norm::Scheme& scheme);

}  // namespace evenkeel::report
