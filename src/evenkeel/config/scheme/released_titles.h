// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/config/scheme/scheme.h"

/// The texts of the catalogue that keys of cached runs contain.
namespace evenkeel::config {

/// The scheme with the title and the note that version 0.1.0 gave it, and a source or equations
/// that were reworded since then (released_titles.toml), for keys of cached runs: a reworded text
/// then leaves a key as it is. A later scheme of the catalogue loses title and note. A scheme of
/// the user keeps its own texts; a title that inline_scheme() copied from the catalogue becomes the
/// released one.
SchemeSource with_released_titles(const SchemeSource& scheme);

}  // namespace evenkeel::config
