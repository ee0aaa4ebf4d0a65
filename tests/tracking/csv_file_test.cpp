// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/csv_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "store/support.h"

namespace evenkeel::tracking {
namespace {

const std::vector<CsvColumn> kColumns = {
    {"step"}, {"loss"}, {"clipped"}, {"val_loss"}, {"texts", "a,b", "text_loss"}};

std::string table_of(const std::filesystem::path& run) {
  return read_file(run / "metrics.csv");
}

TEST(CsvFile, HasARowForEachStepWithItsEvaluation) {
  const auto run = store::fresh_folder();
  CsvFile csv(store::Directory(run), kColumns);
  csv.start();
  csv.add({{"step", 1}, {"loss", 2.5}, {"clipped", true}});
  csv.add({{"step", 2}, {"loss", NAN}, {"clipped", false}});
  csv.add({{"step", 2}, {"val_loss", 0.1}, {"texts", {{"a,b", {{"text_loss", 3}}}}}});
  const std::string head = "step,loss,clipped,val_loss,\"texts.a,b.text_loss\"\n1,2.5,true,,\n";
  EXPECT_EQ(table_of(run), head);
  csv.finish();
  csv.finish();
  EXPECT_EQ(table_of(run), head + "2,,false,0.1,3\n");
}

TEST(CsvFile, IsRewrittenFromTheRecordsOnResume) {
  const auto run = store::fresh_folder();
  store::put(run / "metrics.csv", "step,other\n1,2\n9,9\n");
  store::put(run / "metrics.jsonl",
             "{\"step\":1,\"loss\":0.30000000000000004}\n{\"step\":2,\"loss\":null}\n");
  CsvFile csv(store::Directory(run), kColumns);
  csv.start();
  csv.add({{"step", 2}, {"val_loss", 7}});
  csv.add({{"step", 3}, {"loss", 4}});
  csv.finish();
  EXPECT_EQ(table_of(run),
            "step,loss,clipped,val_loss,\"texts.a,b.text_loss\"\n"
            "1,0.30000000000000004,,,\n2,,,7,\n3,4,,,\n");
}

}  // namespace
}  // namespace evenkeel::tracking
