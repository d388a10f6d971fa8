// Compares the preset 2022 with the pass catalogue, if the corpus exists: its 14 pipelines, their passes in order, and
// which of them run to a fixed point.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "base/source_text.h"
#include "base/text.h"
#include "passes/pipelines/text.h"

namespace hlo {
namespace {

struct Row {
  std::string stage;
  bool fixed_point = false;
  std::vector<std::string> items;  // Items such as "P04 FIX(layout-sensitive)" and "pipeline 4".
};

// The items of a list: "a; b(c; d); [e; f]" => "a", "b(c; d)". Items in brackets depend on a flag that was off.
std::vector<std::string> ItemsOf(std::string text) {
  text = std::regex_replace(text, std::regex("\\. partitions == 1:"), ";");
  std::vector<std::string> items(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (c == ';' && depth == 0) items.emplace_back();
    else items.back() += c;
  }
  std::erase_if(items, [](const std::string& item) { return Trim(item).starts_with("["); });
  return items;
}

struct Catalogue {
  std::map<std::string, std::string> names;  // Names by id, such as "P04" => "algsimp".
  std::map<std::string, Row> rows;           // Rows by the number of the pipeline.

  explicit Catalogue(const std::string& text) {
    const std::regex pass(R"(\| ([PE]\d+) \| [^|]* \| `([^`]*)`.*)");
    const std::regex pipeline(R"(\| (\d+) \| `([^`]*)`[^|]* \| (yes|no) \| (.*) \|)");
    bool is_table = false;
    for (const std::string_view view : Split(text, '\n')) {
      const std::string line(view);
      if (line.starts_with("### ")) is_table = line.starts_with("### 1.3") || line.starts_with("### 1.4");
      std::smatch found;
      if (is_table && std::regex_match(line, found, pass)) names[found[1]] = found[2];
      if (is_table && std::regex_match(line, found, pipeline))
        rows[found[1]] = {found[2], found[3] == "yes", ItemsOf(found[4])};
    }
  }

  // Appends a line for each pass, such as "algsimp fixed-point". Lines of a stage are between "pipeline NAME {" and
  // "}".
  void Append(const Row& row, std::vector<std::string>* lines) const {
    lines->push_back(Str("pipeline ", row.stage, row.fixed_point ? " fixed-point" : "", " {"));
    const std::regex nested(" *pipeline (\\d+)"), id("[PE]\\d+");
    std::string last;
    for (const std::string& item : row.items) {
      std::smatch found;
      if (std::regex_match(item, found, nested)) {
        Append(rows.at(found[1]), lines);
        continue;
      }
      // "P07 ... if deterministic-ops flag else P24" means P24. "(S8,4) and (F16,8)" means the previous pass, twice.
      std::string name = last;
      for (std::sregex_iterator at(item.begin(), item.end(), id); at != std::sregex_iterator(); ++at)
        name = names.at(at->str());
      const auto times = item.find_first_of("PE") == std::string::npos ? std::ranges::count(item, '(') : 1;
      const PassRow* const known = FindPass(name);
      for (int64_t i = 0; i < times; ++i)
        lines->push_back(Str(known ? known->name : name, item.find(" FIX") == std::string::npos ? "" : " fixed-point"));
      last = name;
    }
    lines->push_back("}");
  }
};

// Appends the lines of our pipeline, without conditions of gates, which the catalogue has as remarks.
void Append(const std::vector<PipelineItem>& items, std::vector<std::string>* lines) {
  for (const PipelineItem& item : items) {
    const std::string fixed_point = item.repeat.fixed_point ? " fixed-point" : "";
    switch (item.kind) {
      case PipelineItem::Kind::kPass: lines->push_back(Str(item.pass->name, fixed_point)); break;
      case PipelineItem::Kind::kTodo: lines->push_back(item.name); break;
      case PipelineItem::Kind::kGate: Append(item.items, lines); break;
      case PipelineItem::Kind::kStage:
        lines->push_back(Str("pipeline ", item.name, fixed_point, " {"));
        Append(item.items, lines);
        lines->push_back("}");
    }
  }
}

TEST(Pipeline2022, HasThePassesOfTheCatalogue) {
  const char* corpus = std::getenv("CORPUS");
  const auto source =
      ReadSource((std::filesystem::path(corpus == nullptr ? "../shared" : corpus) / "spec/passes.md").string());
  if (!source) GTEST_SKIP() << "no corpus at hand";
  const Catalogue catalogue{std::string((*source)->text())};
  ASSERT_EQ(catalogue.rows.size(), 14u);
  ASSERT_EQ(catalogue.names.size(), 79u);
  std::vector<std::string> expected;
  for (int number = 1; number <= 14; ++number) {
    const bool is_nested = number == 2 || number == 4;
    if (!is_nested) catalogue.Append(catalogue.rows.at(Str(number)), &expected);
  }
  const auto pipeline = ParsePipeline(FindPreset("2022")->source);
  ASSERT_TRUE(pipeline) << pipeline.error().message();
  std::vector<PipelineItem> items = pipeline->items;
  ASSERT_EQ(items.back().name, "schedule");  // XLA schedules outside of its pipelines.
  items.pop_back();
  std::vector<std::string> actual;
  Append(items, &actual);
  // XLA's partitioner needs no pass that copies computations with several callers.
  const auto flatten = std::ranges::find(actual, "flatten-call-graph");
  ASSERT_EQ(flatten[1], "sharding-propagation");
  actual.erase(flatten);
  EXPECT_EQ(Join(actual, "\n"), Join(expected, "\n"));
}

}  // namespace
}  // namespace hlo
