// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

#include "evenkeel/tokenizer/refuse.h"

namespace evenkeel::tokenizer {

namespace {

// The stack of matching grows from the first size to the second.
constexpr std::size_t kFirstStackBytes = std::size_t{32} << 10;
constexpr std::size_t kMaxStackBytes = std::size_t{64} << 20;

std::string pcre2_message(int code) {
  constexpr std::size_t kLongest = 256;
  std::array<PCRE2_UCHAR, kLongest> buffer{};
  const int length = pcre2_get_error_message(code, buffer.data(), buffer.size());
  return {buffer.begin(), buffer.begin() + std::max(length, 0)};
}

template <typename T>
T* allocated(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

}  // namespace

struct Regex::Code {
  explicit Code(pcre2_code* compiled) : code(compiled) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
  pcre2_code* code;
};

struct Regex::Scratch::State {
  State()
      : match(allocated(pcre2_match_data_create(1, nullptr))),
        context(allocated(pcre2_match_context_create(nullptr))),
        stack(pcre2_jit_stack_create(kFirstStackBytes, kMaxStackBytes, nullptr)) {
    if (stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(match);
  }
  pcre2_match_data* match;
  pcre2_match_context* context;
  pcre2_jit_stack* stack;  // null where the system does not allow JIT
};

Regex::Scratch::Scratch() : state_(std::make_shared<State>()) {}

Regex::Regex(std::string_view pattern, Syntax syntax, const std::string& where)
    : pattern_(pattern) {
  const auto translated = pcre2_pattern(pattern, syntax, where);
  const std::uint32_t ends = syntax == Syntax::ruby ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY;
  const std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> context(
      allocated(pcre2_compile_context_create(nullptr)), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto* const code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | ends | PCRE2_NO_UTF_CHECK, &error, &offset, context.get());
  if (code == nullptr) {
    refuse(where, "must be a regular expression that PCRE2 compiles, but: ", pcre2_message(error));
  }
  code_ = std::make_shared<const Code>(code);
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without JIT, pcre2_match() interprets
}

std::optional<Regex::Match> Regex::find(std::string_view text, std::size_t from,
                                        Scratch& scratch) const {
  auto& state = *scratch.state_;
  const int found = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                from, PCRE2_NO_UTF_CHECK, state.match, state.context);
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0) {
    refuse("text", "the pattern of the tokenizer must match it in bounded memory, but PCRE2 says: ",
           pcre2_message(found), "; divide the text into documents");
  }
  const auto* const bounds = pcre2_get_ovector_pointer(state.match);
  return Match{bounds[0], bounds[1]};
}

}  // namespace evenkeel::tokenizer
