// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>

#include "kernels/cuda_emulated/threads.h"

// What is wrong where no thread of a block can go on, in words.
namespace evenkeel::emulated {

bool same(const Call& a, const Call& b) {
  const auto equal = [](const char* one, const char* two) {
    return one == two || std::strcmp(one, two) == 0;
  };
  return a.place.line == b.place.line && equal(a.name, b.name) && equal(a.place.file, b.place.file);
}

std::string file_and_line(const Place& place) {
  const std::string file = place.file;
  return file.substr(file.rfind('/') + 1) + ':' + std::to_string(place.line);
}

std::string text_of(unsigned mask) {
  char text[16];
  std::snprintf(text, sizeof(text), "%#010x", mask);
  return text;
}

namespace {

std::string text_of(const Call& call) {
  return std::string(call.name) + "() at " + file_and_line(call.place);
}

std::string text_of(const uint3& index) {
  return '(' + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " +
         std::to_string(index.z) + ')';
}

}  // namespace

std::string Block::thread_text(unsigned index) const {
  return kernel_name + ", block " + text_of(::blockIdx) + ", thread " +
         text_of(threads_[index].index);
}

/// Why no thread can go on: which thread another one waits for.
std::string Block::stuck(unsigned waiting) const {
  const Thread& one = threads_[waiting];
  const bool in_warp = one.state == State::in_warp;
  const unsigned first = in_warp ? waiting / kLanes * kLanes : 0;
  for (unsigned i = first; i < (in_warp ? first + kLanes : count_); ++i) {
    if (in_warp && (one.mask >> (i - first) & 1U) == 0) continue;
    const std::string missing = i >= count_                         ? "which the block lacks"
                                : threads_[i].state == State::ended ? "which has ended"
                                                                    : "";
    if (i < count_ && missing.empty()) {
      const Thread& other = threads_[i];
      if (other.state == one.state && same(other.call, one.call)) {
        if (!in_warp || other.mask == one.mask) continue;
        return "waits in " + text_of(one.call) + " with mask " + text_of(one.mask) +
               " for thread " + std::to_string(i) + ", which has mask " + text_of(other.mask);
      }
      return "waits in " + text_of(one.call) + " for thread " + std::to_string(i) +
             ", which waits in " + text_of(other.call);
    }
    return "waits in " + text_of(one.call) + " for thread " + std::to_string(i) + ", " + missing;
  }
  return {};
}

std::string Block::stuck() const {
  for (unsigned i = 0; i < count_; ++i) {
    if (threads_[i].state == State::ended) continue;
    const auto why = stuck(i);
    if (why.empty()) continue;
    return file_and_line(threads_[i].call.place) + ": " + thread_text(i) + ": " + why;
  }
  return "no thread can go on";
}

}  // namespace evenkeel::emulated
