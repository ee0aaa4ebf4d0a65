// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "evenkeel/config/config.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/report/run.h"

/// The configuration and the scheme of a run, bound from the text of its run.toml.
namespace evenkeel::report {

/// The configuration of a run; nullopt if run.toml is missing or does not fit this version.
std::optional<config::Config> run_config(const Run& run);

/// The scheme of a run, bound to its model; nullopt if run_config() or the scheme is invalid.
std::optional<norm::Scheme> run_scheme(const Run& run);

/// The figure of a run's scheme as HTML; "" if run_scheme() is nullopt.
std::string run_scheme_figure(const Run& run);

}  // namespace evenkeel::report
