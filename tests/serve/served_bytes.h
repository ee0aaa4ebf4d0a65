// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "evenkeel/serve/served_model.h"
#include "support/tiny_model.h"

namespace evenkeel::testing {

/// A small model with random parameters, whose tokens are bytes, or those of data.tokenizer. Its
/// context has 64 tokens.
struct ServedBytes {
  explicit ServedBytes(const config::Data& data = {})
      : tiny("pre_norm", nn::Precision::float64, {}, shape(data)) {
    served = {.model = tiny.model.get(),
              .encoding = std::make_shared<const data::TextEncoding>(data),
              .id = "run-step-1"};
  }

  static norm::Shape shape(const config::Data& data) {
    auto shape = tiny_shape(2);
    shape.vocabulary = data::TextEncoding(data).vocabulary();
    shape.context = 64;
    return shape;
  }

  TinyModel tiny;
  serve::ServedModel served;
};

}  // namespace evenkeel::testing
