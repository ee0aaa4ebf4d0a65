// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/config/table_reader.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::study {

/// The key `measure` of a table: `"val_loss"`, `{ task = "hellaswag", metric = "len_norm" }`,
/// `{ probe = "grad_norm", part = "block", step = 100, as = "slope" }`, `{ val_loss_at = 0.25 }`,
/// `{ steps_to_val_loss = 1.9 }`, or `{ over = "schedule.peak", as = "best", cap = 3.0 }`.
/// \param fallback  the measure without the key
/// \param key  another name of the key
/// \throws Error (usage)
Measure measure_of(config::TableReader& table, const Study& study, const Measure& fallback,
                   const char* key = "measure");

}  // namespace evenkeel::study
