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
  const store::SafetensorsStream file(path);
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

TEST(CopyWeights, OfInferenceHasTheValuesOfTraining) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "inference.safetensors";
  const auto shape = testing::tiny_shape(3);
  const auto scheme = config::bind(config::find_scheme("pre_norm"), shape);
  const TinyModel tiny("pre_norm", nn::Precision::float32, {}, shape);
  std::vector<store::TensorView> views;
  for (const auto& each : tiny.parameters->all()) views.push_back(view_of(each.name, each.master));
  store::write_safetensors(path, views);
  const store::SafetensorsStream file(path);
  const auto specs = nn::parameter_specs(scheme, shape.vocabulary + 1, /*tied=*/true);
  for (const auto precision :
       {nn::Precision::float32, nn::Precision::bfloat16, nn::Precision::float64}) {
    nn::Parameters trained(specs, precision);
    nn::Parameters inferred(specs, precision, at::kCPU, nn::ParameterUse::inference);
    copy_weights(file, trained, CastDtype::yes);
    copy_weights(file, inferred, CastDtype::yes);
    for (std::size_t i = 0; i < trained.all().size(); ++i) {
      const auto &whole = trained.all()[i], &part = inferred.all()[i];
      EXPECT_TRUE(part.value.equal(whole.value)) << whole.name;
      EXPECT_NE(whole.value.abs().sum().item<double>(), 0) << whole.name;
      EXPECT_FALSE(part.value.requires_grad());
      EXPECT_FALSE(part.gradient_buffer);
      EXPECT_TRUE(!part.master.defined() || part.master.data_ptr() == part.value.data_ptr());
    }
    for (const auto& group : inferred.groups()) EXPECT_FALSE(group.gradient.defined());
  }
}

TEST(CheckInferenceMemory, RefusesAContextThatNoMachineHolds) {
  auto shape = testing::tiny_shape(3);
  const auto specs = specs_of(shape);
  constexpr auto kInference = nn::ParameterUse::inference;
  EXPECT_NO_THROW(check_inference_memory(specs, shape, nn::Precision::bfloat16, kInference));
  shape.context = std::int64_t{1} << 50;
  const auto answer =
      error_of([&] { check_inference_memory(specs, shape, nn::Precision::float32, kInference); });
  EXPECT_EQ(answer.substr(0, answer.find("about ")), "75 this would take ") << answer;
  auto wide = testing::tiny_shape(3);
  wide.width <<= 24;
  const auto wide_specs = specs_of(wide);
  EXPECT_NE(error_of([&] {
              check_inference_memory(wide_specs, wide, nn::Precision::float32, kInference);
            }),
            "");
}

}  // namespace
}  // namespace evenkeel::train
