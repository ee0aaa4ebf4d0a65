// SPDX-License-Identifier: Apache-2.0
// Damages a checkpoint in many ways, and asks the store whether it still finds it: flips.py.
//
// campaign_flips FOLDER SEED SHARD OF MOST: FOLDER/run/checkpoints/step-00000004 is the checkpoint,
// FOLDER/other another one of the same run. MOST damages are drawn; 0: every bit. Prints {"tried":
// N, "complaints": [...]}.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/checkpoint.h"

namespace evenkeel::campaign {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBits = 8, kPage = 4096, kMostShown = 20, kBetweenChecks = 500;

/// A file of the checkpoint: its bytes, and a descriptor to change it in place.
class Target {
 public:
  explicit Target(fs::path path)
      : path_(std::move(path)), bytes_(read_file(path_)), file_(::open(path_.c_str(), O_RDWR)) {
    EK_ASSERT(file_ >= 0);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  Target(Target&& other) noexcept
      : path_(std::move(other.path_)),
        bytes_(std::move(other.bytes_)),
        file_(std::exchange(other.file_, -1)) {}
  Target& operator=(Target&&) = delete;
  ~Target() {
    if (file_ >= 0) ::close(file_);
  }

  const std::string& bytes() const { return bytes_; }
  std::string name() const { return path_.filename().string(); }

  /// Writes `bytes` at an offset.
  void put(std::size_t at, std::string_view bytes) const {
    const auto size = static_cast<ssize_t>(bytes.size());
    EK_ASSERT(::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(at)) == size);
  }

  void resize(std::size_t size) const {
    EK_ASSERT(::ftruncate(file_, static_cast<off_t>(size)) == 0);
  }

  /// Restores the bytes from an offset on.
  void restore(std::size_t at, std::size_t size) const {
    resize(bytes_.size());
    put(at, std::string_view(bytes_).substr(at, size));
  }

  /// The number of bytes before the tensor data: 8 and the header; of other files all bytes.
  std::size_t head() const {
    if (!path_.string().ends_with(".safetensors")) return bytes_.size();
    std::uint64_t header = 0;
    std::memcpy(&header, bytes_.data(), sizeof header);
    return sizeof header + header;
  }

 private:
  fs::path path_;
  std::string bytes_;
  int file_;
};

/// Applies damages, counts them, and collects those that are not detected.
class Flips {
 public:
  Flips(const fs::path& folder, std::uint64_t seed, std::size_t shard, std::size_t of)
      : run_(folder / "run"), other_(folder / "other"), random_(seed), shard_(shard), of_(of) {
    for (const auto* name :
         {"MANIFEST.json", "state.json", "model.safetensors", "optimizer.safetensors"}) {
      targets_.emplace_back(run_ / "checkpoints/step-00000004" / name);
    }
    check_intact();
  }

  const std::vector<Target>& targets() const { return targets_; }
  std::size_t tried() const { return tried_; }
  const std::vector<std::string>& complaints() const { return complaints_; }
  std::size_t below(std::size_t limit) { return random_() % limit; }

  /// The repaired checkpoint is found: otherwise each damage would count as detected.
  void check_intact() const { EK_ASSERT(store::newest_checkpoint(run_).found.has_value()); }

  /// One damage, if it belongs to this shard: `damage` and `repair` change the file.
  void judge(const std::string& what, const std::function<void()>& damage,
             const std::function<void()>& repair) {
    if (number_++ % of_ != shard_) return;
    ++tried_;
    damage();
    try {
      if (store::newest_checkpoint(run_).found) complain("not detected: " + what);
    } catch (const Error&) {  // a refusal
    } catch (const std::exception& error) {
      complain(text("exit code 70: ", what, ": ", error.what()));
    }
    repair();
    if (tried_ % kBetweenChecks == 0) check_intact();
  }

  void flip(const Target& target, std::size_t bit) {
    const auto at = bit / kBits;
    const char damaged = static_cast<char>(target.bytes()[at] ^ (1 << (bit % kBits)));
    judge(
        text(target.name(), " bit ", bit), [&] { target.put(at, {&damaged, 1}); },
        [&] { target.restore(at, 1); });
  }

  void cut(const Target& target, std::size_t size) {
    judge(
        text(target.name(), " cut to ", size), [&] { target.resize(size); },
        [&] { target.restore(size, std::string::npos); });
  }

  void extend(const Target& target, std::size_t more, char by) {
    judge(
        text(target.name(), " longer by ", more),
        [&] { target.put(target.bytes().size(), std::string(more, by)); },
        [&] { target.restore(0, 1); });
  }

  void replace(const Target& target, std::size_t at, const std::string& by, const char* what) {
    if (target.bytes().compare(at, by.size(), by) == 0) return;
    judge(
        text(target.name(), " ", what, " at ", at), [&] { target.put(at, by); },
        [&] { target.restore(at, by.size()); });
  }

  /// Two bytes of a file change places.
  void swap_bytes(const Target& target, std::size_t one, std::size_t other) {
    auto bytes = target.bytes().substr(std::min(one, other),
                                       std::max(one, other) - std::min(one, other) + 1);
    std::swap(bytes.front(), bytes.back());
    replace(target, std::min(one, other), bytes, "swapped bytes");
  }

  /// The file of another checkpoint in place of this one.
  void swap_file(const Target& target) {
    const auto by = read_file(other_ / target.name());
    if (by == target.bytes()) return;
    judge(
        target.name() + " of another step",
        [&] {
          target.resize(by.size());
          target.put(0, by);
        },
        [&] { target.restore(0, std::string::npos); });
  }

 private:
  void complain(const std::string& what) {
    if (complaints_.size() < kMostShown) complaints_.push_back(what);
  }

  fs::path run_, other_;
  std::mt19937_64 random_;
  std::size_t shard_, of_, number_ = 0, tried_ = 0;
  std::vector<Target> targets_;
  std::vector<std::string> complaints_;
};

/// Cuts, longer files, pages of zeros, swapped bytes and files.
void damage_otherwise(Flips& flips) {
  constexpr int kCuts = 1500, kLonger = 64, kPages = 200, kSwaps = 1500;
  for (const auto& target : flips.targets()) {
    const auto size = target.bytes().size();
    for (std::size_t to = 0; to < std::min<std::size_t>(size, 64); ++to) flips.cut(target, to);
    for (int i = 0; i < kCuts; ++i) flips.cut(target, flips.below(size));
    for (int i = 1; i <= kLonger; ++i) {
      flips.extend(target, static_cast<std::size_t>(i), i % 2 == 0 ? '\n' : '\0');
    }
    for (int i = 0; i < kPages; ++i) {
      const auto at = flips.below(size);
      flips.replace(target, at, std::string(std::min(kPage, size - at), '\0'), "zeros");
    }
    for (int i = 0; i < kSwaps; ++i) {
      const auto one = flips.below(size), other = flips.below(size);
      flips.swap_bytes(target, one, other);
    }
    flips.swap_file(target);
  }
}

/// Every bit of manifest, state and headers, and as many bits of tensors as are left of `most`.
void flip_bits(Flips& flips, std::size_t most, std::size_t others) {
  std::size_t heads = 0;
  for (const auto& target : flips.targets()) heads += target.head() * kBits;
  const auto left = most > heads + others ? most - heads - others : 0;
  for (const auto& target : flips.targets()) {
    const auto first = target.head() * kBits, all = target.bytes().size() * kBits;
    for (std::size_t bit = 0; bit < first; ++bit) flips.flip(target, bit);
    if (most == 0) {
      for (auto bit = first; bit < all; ++bit) flips.flip(target, bit);
    } else if (first < all) {
      for (std::size_t i = 0; i < left / 2; ++i)
        flips.flip(target, first + flips.below(all - first));
    }
  }
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') out += '\\';
    out += each;
  }
  return out + '"';
}

int run(const fs::path& folder, std::uint64_t seed, std::size_t shard, std::size_t of,
        std::size_t most) {
  constexpr std::size_t kOthers = 13000;  // about the number of damages of damage_otherwise()
  Flips flips(folder, seed, shard, of);
  damage_otherwise(flips);
  flip_bits(flips, most, kOthers);
  flips.check_intact();
  std::string list;
  for (const auto& each : flips.complaints())
    list += (list.empty() ? "" : ", ") + json_string(each);
  std::printf("{\"tried\": %zu, \"complaints\": [%s]}\n", flips.tried(), list.c_str());
  return 0;
}

}  // namespace

}  // namespace evenkeel::campaign

int main(int count, char** words) {
  if (count != 6) {
    std::fprintf(stderr, "usage: campaign_flips FOLDER SEED SHARD OF MOST\n");
    return 64;
  }
  const auto number = [&](int at) { return std::strtoull(words[at], nullptr, 10); };
  return evenkeel::campaign::run(words[1], number(2), number(3), number(4), number(5));
}
