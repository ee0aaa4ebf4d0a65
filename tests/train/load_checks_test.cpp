// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "evenkeel/base/error.h"
#include "evenkeel/train/run_checks.h"
#include "evenkeel/train/tensor_file.h"
#include "support/tiny_model.h"

/// Checks of a checkpoint before its model is built.
namespace evenkeel::train {
namespace {

using testing::TinyModel;

/// "77 message" of the Error that `call` throws; "" without one.
template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return text(static_cast<int>(error.exit()), " ", error.what());
  }
  return "";
}

std::vector<nn::ParameterSpec> specs_of(norm::Shape shape) {
  return nn::parameter_specs(config::bind(config::find_scheme("pre_norm"), shape),
                             shape.vocabulary + 1, /*tied=*/true);
}

TEST(CheckTensors, ComparesShapesWithoutAModel) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "check_tensors.safetensors";
  const auto shape = testing::tiny_shape(3);
  const TinyModel tiny("pre_norm", nn::Precision::float32, {.tied = true}, shape);
  std::vector<store::TensorView> views;
  for (const auto& each : tiny.parameters->all()) views.push_back(view_of(each.name, each.master));
  store::write_safetensors(path, views);
  const auto file = store::Safetensors::read(path);
  check_tensors(file, specs_of(shape), nn::Precision::float32);
  auto wide = shape;
  wide.width = shape.width << 20;
  wide.inner = shape.inner << 20;
  EXPECT_EQ(error_of([&] { check_tensors(file, specs_of(wide), nn::Precision::float32); }),
            text("77 ", path.string(), ": embedding.weight must be F32 [", shape.vocabulary + 1,
                 ", ", wide.width, "], but is F32 [", shape.vocabulary + 1, ", ", shape.width,
                 "]; it is of another model or precision"));
  auto deep = shape;
  deep.layers = 4;
  EXPECT_EQ(
      error_of([&] { check_tensors(file, specs_of(deep), nn::Precision::float32); }).substr(0, 3),
      "77 ");
}

TEST(CheckInferenceMemory, RefusesAContextThatNoMachineHolds) {
  auto shape = testing::tiny_shape(3);
  const auto specs = specs_of(shape);
  EXPECT_NO_THROW(check_inference_memory(specs, shape, nn::Precision::bfloat16));
  shape.context = std::int64_t{1} << 50;
  const auto answer =
      error_of([&] { check_inference_memory(specs, shape, nn::Precision::float32); });
  EXPECT_EQ(answer.substr(0, answer.find("about ")), "75 this would take ") << answer;
  auto wide = testing::tiny_shape(3);
  wide.width <<= 24;
  EXPECT_NE(error_of([&] { check_inference_memory(specs_of(wide), wide, nn::Precision::float32); }),
            "");
}

}  // namespace
}  // namespace evenkeel::train
