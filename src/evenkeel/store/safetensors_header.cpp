// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/safetensors_header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::store {

namespace {

/// A name from the file for a message: quoted, on one line, at most about 80 characters.
std::string quoted_name(const std::string& name) {
  constexpr std::size_t kLongest = 80;
  auto quoted = nlohmann::json(name).dump(-1, ' ', true);
  if (quoted.size() > kLongest) quoted = quoted.substr(0, kLongest) + "...\"";
  return quoted;
}

std::string known_dtypes() {
  std::string known;
  for (int i = 0; i <= static_cast<int>(Dtype::boolean); ++i) {
    known += text(known.empty() ? "" : ", ", name_of(static_cast<Dtype>(i)));
  }
  return known;
}

/// Callbacks for nlohmann::json::sax_parse. On a defect a callback sets defect() and returns false.
/// `expecting_` is the only value, or kind of key, that may follow, which bounds the nesting depth.
class HeaderReader {
 public:
  explicit HeaderReader(Header& header) : header_(header) {}
  const std::string& defect() const { return defect_; }

  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool number_integer(std::int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string&) { return unexpected("not an integer"); }
  bool binary(const nlohmann::json::binary_t&) { return unexpected("binary"); }

  bool number_unsigned(std::uint64_t number) {
    if (expecting_ == Expecting::dimension) {
      if (number > std::numeric_limits<std::int64_t>::max()) return refuse("shape is too large");
      if (entry_.shape.size() == kMaxDimensions) {
        return refuse(text("at most ", kMaxDimensions, " dimensions are read"));
      }
      entry_.shape.push_back(static_cast<std::int64_t>(number));
      return true;
    }
    if (expecting_ != Expecting::offset) return unexpected("a number");
    if (offsets_ == 2) return refuse("data_offsets must be two numbers, but are more");
    (offsets_++ == 0 ? entry_.begin : entry_.end) = number;
    return true;
  }

  bool string(const std::string& value) {
    if (expecting_ == Expecting::metadata_value) {
      header_.metadata[key_] = value;
      expecting_ = Expecting::metadata_key;
      return true;
    }
    if (expecting_ != Expecting::dtype) return unexpected("a string");
    const auto dtype = dtype_named(value);
    if (!dtype)
      return refuse(text("unknown dtype ", quoted_name(value), "; known: ", known_dtypes()));
    entry_.dtype = *dtype;
    expecting_ = Expecting::tensor_key;
    return true;
  }

  bool start_object(std::size_t) {
    switch (expecting_) {
      case Expecting::header:
        expecting_ = Expecting::header_key;
        return true;
      case Expecting::tensor:
        expecting_ = Expecting::tensor_key;
        return true;
      case Expecting::metadata:
        expecting_ = Expecting::metadata_key;
        return true;
      default:
        return unexpected("an object");
    }
  }

  bool key(const std::string& key) {
    switch (expecting_) {
      case Expecting::header_key:
        return header_key(key);
      case Expecting::tensor_key:
        return tensor_key(key);
      default:
        return metadata_key(key);
    }
  }

  bool end_object() {
    if (expecting_ == Expecting::tensor_key && !finish_tensor()) return false;
    expecting_ = Expecting::header_key;  // or the end of the header
    return true;
  }

  bool start_array(std::size_t) {
    if (expecting_ != Expecting::shape && expecting_ != Expecting::offsets)
      return unexpected("an array");
    expecting_ = expecting_ == Expecting::shape ? Expecting::dimension : Expecting::offset;
    return true;
  }

  bool end_array() {
    if (expecting_ == Expecting::offset && offsets_ != 2) {
      return refuse(text("data_offsets must be two numbers, but are ", offsets_));
    }
    expecting_ = Expecting::tensor_key;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    defect_ = text("header must be JSON in UTF-8, but is not at byte ", position);
    return false;
  }

 private:
  enum class Expecting {
    header,
    header_key,
    tensor,
    tensor_key,
    dtype,
    shape,
    dimension,
    offsets,
    offset,
    metadata,
    metadata_key,
    metadata_value
  };

  bool refuse(const std::string& defect) {
    defect_ = text("tensor ", quoted_name(name_), ": ", defect);
    return false;
  }

  bool unexpected(const char* found) {
    switch (expecting_) {
      case Expecting::header:
        defect_ = text("header must be an object, but is ", found);
        return false;
      case Expecting::tensor:
        return refuse(text("must be an object, but is ", found));
      case Expecting::dtype:
        return refuse(text("dtype must be a string, but is ", found));
      case Expecting::shape:
        return refuse(text("shape must be an array, but is ", found));
      case Expecting::dimension:
        return refuse(text("shape must hold integers >= 0, but one is ", found));
      case Expecting::offsets:
        return refuse(text("data_offsets must be an array, but is ", found));
      case Expecting::offset:
        return refuse(text("data_offsets must hold integers >= 0, but one is ", found));
      default:
        defect_ = text(kMetadataKey, " must map strings to strings, but holds ", found);
        return false;
    }
  }

  bool duplicate(const std::string& key) {
    defect_ = text("key ", quoted_name(key), " must be there once, but is there twice");
    return false;
  }

  bool header_key(const std::string& key) {
    if (key == kMetadataKey) {
      expecting_ = Expecting::metadata;
      return !std::exchange(has_metadata_, true) || duplicate(key);
    }
    name_ = key;
    if (key.size() > kMaxNameBytes) {
      return refuse(text("a name may have ", kMaxNameBytes, " bytes, but has ", key.size()));
    }
    if (header_.entries.contains(key)) return duplicate(key);
    if (header_.entries.size() == kMaxTensors) {
      defect_ = text("at most ", kMaxTensors, " tensors are read, but there are more");
      return false;
    }
    entry_ = {};
    offsets_ = 0;
    has_dtype_ = has_shape_ = has_offsets_ = false;
    expecting_ = Expecting::tensor;
    return true;
  }

  bool tensor_key(const std::string& key) {
    if (key == "dtype") return field(key, has_dtype_, Expecting::dtype);
    if (key == "shape") return field(key, has_shape_, Expecting::shape);
    if (key == "data_offsets") return field(key, has_offsets_, Expecting::offsets);
    return refuse(text("unknown key ", quoted_name(key), "; known: data_offsets, dtype, shape"));
  }

  bool field(const std::string& key, bool& is_present, Expecting expecting) {
    expecting_ = expecting;
    return !std::exchange(is_present, true) ||
           refuse(text("key ", quoted_name(key), " is there twice"));
  }

  bool metadata_key(const std::string& key) {
    if (header_.metadata.contains(key)) return duplicate(key);
    if (header_.metadata.size() == kMaxTensors) {
      defect_ = text("at most ", kMaxTensors, " lines of metadata are read, but there are more");
      return false;
    }
    key_ = key;
    expecting_ = Expecting::metadata_value;
    return true;
  }

  bool finish_tensor() {
    if (!has_dtype_) return refuse("has no dtype");
    if (!has_shape_) return refuse("has no shape");
    if (!has_offsets_) return refuse("has no data_offsets");
    std::int64_t bytes = bytes_of(entry_.dtype);
    for (const auto size : entry_.shape) {
      if (__builtin_mul_overflow(bytes, size, &bytes)) return refuse("shape is too large");
    }
    if (entry_.end < entry_.begin) return refuse("data_offsets must not run backwards");
    const auto range = entry_.end - entry_.begin;
    if (range != static_cast<std::uint64_t>(bytes)) {
      return refuse(text("shape and dtype want ", bytes, " bytes, but data_offsets span ", range));
    }
    header_.entries.emplace(name_, std::move(entry_));
    return true;
  }

  Header& header_;
  Expecting expecting_ = Expecting::header;
  std::string name_, key_, defect_;
  TensorInfo entry_;
  int offsets_ = 0;
  bool has_metadata_ = false, has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
};

/// The first gap or overlap between tensors in the data area; "" if there is none.
std::string coverage_defect(const Header& header, std::uint64_t data_bytes) {
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  std::vector<std::pair<Range, const std::string*>> ranges;
  ranges.reserve(header.entries.size());
  for (const auto& [name, entry] : header.entries)
    ranges.push_back({{entry.begin, entry.end}, &name});
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  std::uint64_t covered = 0;
  for (const auto& [range, name] : ranges) {
    if (range.first != covered) {
      return text("tensor ", quoted_name(*name), ": must begin at byte ", covered,
                  ", but begins at ", range.first);
    }
    covered = range.second;
  }
  if (covered == data_bytes) return "";
  return text("tensors must cover ", data_bytes, " bytes of data, but cover ", covered);
}

}  // namespace

std::string read_header(
    std::uint64_t file_bytes, std::uint64_t header_bytes, const std::string& where,
    const std::function<void(std::uint64_t position, void* to, std::size_t size)>& read) {
  const auto refuse = [&](const std::string& defect) {
    throw Error(Exit::data, text(where, ": ", defect));
  };
  if (file_bytes < sizeof header_bytes) {
    refuse(text("a safetensors file has at least 8 bytes, but this has ", file_bytes));
  }
  const auto rest = file_bytes - sizeof header_bytes;
  if (header_bytes > rest && header_bytes > kMaxHeaderBytes) {
    refuse("must be a .safetensors file, but does not begin with the size of its header");
  }
  if (header_bytes > rest) {
    refuse(text("header must have ", header_bytes, " bytes, but only ", rest, " follow"));
  }
  if (header_bytes > kMaxHeaderBytes) {
    refuse(
        text("at most ", kMaxHeaderBytes, " bytes of header are read, but it has ", header_bytes));
  }
  std::string json(header_bytes, '\0');
  read(sizeof header_bytes, json.data(), json.size());
  return json;
}

Header parse_header(std::string_view json, std::uint64_t data_bytes, const std::string& where) {
  const auto refuse = [&](const std::string& defect) {
    throw Error(Exit::data, text(where, ": ", defect));
  };
  if (!json.starts_with('{')) refuse("header must begin with \"{\"");
  // nlohmann::json takes a zero byte as the end of the text and would ignore the rest.
  if (const auto zero = json.find('\0'); zero != std::string_view::npos) {
    refuse(text("header must be JSON in UTF-8, but is not at byte ", zero + 1));
  }
  Header header;
  HeaderReader reader(header);
  if (!nlohmann::json::sax_parse(json, &reader)) refuse(reader.defect());
  if (const auto defect = coverage_defect(header, data_bytes); !defect.empty()) refuse(defect);
  return header;
}

}  // namespace evenkeel::store
