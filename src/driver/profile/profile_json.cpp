// Lists fields once, for writing and reading "hlo.profile/1".
#include <cstdlib>
#include <span>
#include <type_traits>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/profile/advice.h"
#include "driver/profile/summary.h"

namespace hlo {
namespace {

constexpr std::string_view kSchema = "hlo.profile/1";

template <class V>
void Fields(V& v, TensorCoreUse& use) {
  v("eligible", use.eligible)("used", use.used)("why_not", use.why_not);
}

template <class V>
void Fields(V& v, Cost& cost) {
  v("flops", cost.flops)("transcendentals", cost.transcendentals)("dot_flops", cost.dot_flops);
  v("scalar_work", cost.scalar_work)("bytes_read", cost.bytes_read)("bytes_written", cost.bytes_written);
}

template <class V>
void Fields(V& v, LaunchSize& size) {
  v("blocks", size.blocks)("threads", size.threads)("shared_bytes", size.shared_bytes);
}

template <class V>
void Fields(V& v, ProfiledStep& step) {
  v("name", step.name)("sort", step.sort)("kind", step.kind)("how", step.how)("op_name", step.op_name);
  v("source", step.source)("library", step.library)("slow", step.slow)("refused", step.refused);
  v("launches", step.launches)("bits", step.bits)("tensor_cores", step.tensor_cores)("cost", step.cost);
  v("least_seconds", step.least_seconds)("bound", step.bound)("live_bytes", step.live_bytes);
  v("launch_sizes", step.sizes)("is_collective", step.is_collective);
  v("work", step.work)("made_of", step.made_of)("results", step.results);
}

template <class V>
void Fields(V& v, StepFigures& figures) {
  v("executions", figures.executions)("ms", figures.ms)("mean_us", figures.mean_us);
  v("least_us", figures.least_us)("most_us", figures.most_us);
}

template <class V>
void Fields(V& v, StepRow& row) {
  Fields(v, row.step);
  Fields(v, row.figures);
  v("runs_ns", row.runs_ns)("place", row.place);
}

template <class V>
void Fields(V& v, ProfiledLoop& loop) {
  v("name", loop.name)("op_name", loop.op_name)("source", loop.source);
}

template <class V>
void Fields(V& v, LoopRow& row) {
  Fields(v, row.loop);
  v("trips", row.figures.trips)("ms", row.figures.ms);
}

template <class V>
void Fields(V& v, GroupRow& row) {
  v("name", row.name)("executions", row.executions)("ms", row.ms);
}

template <class V>
void Fields(V& v, GapFigures& gap) {
  v("count", gap.count)("ms", gap.ms)("median_us", gap.median_us);
}

template <class V>
void Fields(V& v, TimeShare& share) {
  v("count", share.count)("ms", share.ms);
}

template <class V>
void Fields(V& v, TensorCoreFigures& figures) {
  v("eligible", figures.eligible)("used", figures.used);
}

template <class V>
void Fields(V& v, CopyFigures& copies) {
  v("count", copies.count)("bytes", copies.bytes)("ms", copies.ms);
}

template <class V>
void Fields(V& v, HeldValue& held) {
  v("name", held.name)("shape", held.shape)("op_name", held.op_name)("source", held.source)("bytes", held.bytes);
  v("is_output", held.is_output)("from", held.from)("to", held.to);
}

template <class V>
void Fields(V& v, MemoryProfile& memory) {
  v("parameter_bytes", memory.parameter_bytes)("constant_bytes", memory.constant_bytes);
  v("kept_bytes", memory.kept_bytes)("planned_bytes", memory.planned_bytes)("peak_bytes", memory.peak_bytes);
  v("peak_at", memory.peak_at)("at_peak", memory.at_peak);
}

template <class V>
void Fields(V& v, SampleSpan& span) {
  v("step", span.step)("begin_us", span.begin_us)("us", span.us);
}

template <class V>
void Fields(V& v, SampleLoop& loop) {
  v("loop", loop.loop)("depth", loop.depth)("begin_us", loop.begin_us)("us", loop.us)("trips", loop.trips);
}

template <class V>
void Fields(V& v, ProfileSummary& s) {
  v("path", s.path)("module", s.module_name)("input", s.input)("code", s.code)("platform", s.platform);
  v("device", s.device)("target", s.target)("is_host", s.is_host)("roof", s.roof_name)("memory_rate", s.memory_rate);
  v("instruction_rate", s.instruction_rate)("dot_rates", s.dot_rates)("runs", s.runs)("whole_runs", s.whole_runs);
  v("dropped", s.dropped)("waits_for_each", s.waits_for_each)("timing", s.timing)("runs_ns", s.runs_ns);
  v("run_ms", s.run_ms)("median_ms", s.median_ms);
  v("deviation_ms", s.deviation_ms)("overhead", s.overhead)("examples_per_run", s.examples_per_run);
  v("busy_ms", s.busy_ms)("interpreted_ms", s.interpreted_ms)("gaps", s.gaps)("classes", s.classes)("bits", s.bits);
  v("tensor_cores", s.tensor_cores)("launches", s.launches)("short_executions", s.short_executions);
  v("plan_copies", s.plan_copies)("memory", s.memory)("steps", s.steps)("loops", s.loops)("scopes", s.scopes);
  v("sources", s.sources)("sample_ms", s.sample_ms)("sample", s.sample)("sample_left_out", s.sample_left_out);
  v("sample_loops", s.sample_loops);
}

constexpr gpu::StepKind kSorts[] = {gpu::StepKind::kKernel,    gpu::StepKind::kGemm, gpu::StepKind::kConvolution,
                                    gpu::StepKind::kAttention, gpu::StepKind::kCopy, gpu::StepKind::kFill,
                                    gpu::StepKind::kHostCall};
constexpr Bound kBoundWords[] = {Bound::kMemory, Bound::kDot, Bound::kCompute, Bound::kLaunch};

class Writer {
 public:
  explicit Writer(JsonWriter& json) : json_(json) {}

  template <class T>
  Writer& operator()(std::string_view key, T& value) {
    json_.Key(key);
    Write(value);
    return *this;
  }

 private:
  void Write(std::string& text) { json_.Value(text); }
  void Write(uint64_t fingerprint) { json_.Value(Format("%016llx", static_cast<unsigned long long>(fingerprint))); }
  template <class T>
    requires(std::is_arithmetic_v<T>)
  void Write(const T& number) {
    json_.Value(number);
  }
  template <class T>
    requires(std::is_enum_v<T>)
  void Write(const T& word) {
    json_.Value(ToString(word));
  }
  template <class T>
  void PutAll(T& items) {
    json_.Open('[');
    for (auto& item : items) Write(item);
    json_.Close(']');
  }
  template <class T>
  void Write(std::vector<T>& items) {
    PutAll(items);
  }
  template <class T, size_t kSize>
  void Write(std::array<T, kSize>& items) {
    PutAll(items);
  }
  template <class T>
  void Write(std::map<int, T>& items) {
    json_.Open('{');
    for (auto& [key, item] : items) {
      json_.Key(Str(key));
      Write(item);
    }
    json_.Close('}');
  }
  template <class T>
    requires(std::is_class_v<T>)
  void Write(T& part) {
    json_.Open('{');
    Fields(*this, part);
    json_.Close('}');
  }

  JsonWriter& json_;
};

// A missing string keeps its default, a missing number is 0, and a missing flag is false.
class Reader {
 public:
  explicit Reader(const JsonValue& json) : json_(&json) {}

  template <class T>
  Reader& operator()(std::string_view key, T& value) {
    Read((*json_)[key], value);
    return *this;
  }

 private:
  static void Read(const JsonValue& json, std::string& text) {
    if (json.String() != nullptr) text = *json.String();
  }
  static void Read(const JsonValue& json, bool& value) { value = json.IsTrue(); }
  static void Read(const JsonValue& json, double& value) { value = json.Number().value_or(0); }
  static void Read(const JsonValue& json, uint64_t& value) {
    if (json.String() != nullptr) value = std::strtoull(json.String()->c_str(), nullptr, 16);
  }
  template <class T>
    requires(std::is_integral_v<T>)
  static void Read(const JsonValue& json, T& value) {
    value = static_cast<T>(json.Int().value_or(0));
  }
  template <class T>
  static void ReadWord(const JsonValue& json, std::span<const T> words, T& value) {
    for (const T word : words) {
      if (json.String() != nullptr && ToString(word) == *json.String()) value = word;
    }
  }
  static void Read(const JsonValue& json, gpu::StepKind& value) { ReadWord<gpu::StepKind>(json, kSorts, value); }
  static void Read(const JsonValue& json, Bound& value) { ReadWord<Bound>(json, kBoundWords, value); }
  template <class T>
  static void Read(const JsonValue& json, std::vector<T>& items) {
    if (json.Items() == nullptr) return;
    for (const JsonValue& item : *json.Items()) Read(item, items.emplace_back());
  }
  template <class T, size_t kSize>
  static void Read(const JsonValue& json, std::array<T, kSize>& items) {
    if (json.Items() == nullptr) return;
    for (size_t i = 0; i < std::min(kSize, json.Items()->size()); ++i) Read((*json.Items())[i], items[i]);
  }
  template <class T>
  static void Read(const JsonValue& json, std::map<int, T>& items) {
    if (json.AsObject() == nullptr) return;
    for (size_t i = 0; i < json.AsObject()->keys.size(); ++i) {
      int64_t key = 0;
      if (ParseInt(json.AsObject()->keys[i], &key)) Read(json.AsObject()->values[i], items[static_cast<int>(key)]);
    }
  }
  template <class T>
    requires(std::is_class_v<T>)
  static void Read(const JsonValue& json, T& part) {
    Reader reader(json);
    Fields(reader, part);
  }

  const JsonValue* json_;
};

}  // namespace

std::string ProfileJson(const ProfileSummary& summary) {
  JsonWriter json;
  json.Open('{').Key("schema").Value(kSchema);
  Writer writer(json);
  ProfileSummary written = summary;
  Fields(writer, written);
  json.Key("advice").Open('[');
  for (const std::string& one : AdviceOn(summary)) json.Value(one);
  json.Close(']');
  return json.Close('}').text() + "\n";
}

Result<ProfileSummary> ReadProfileSummary(const std::string& path) {
  const auto text = TRY(ReadSource(path));
  auto read = ReadJson(text->text());
  if (!read) {
    read.error().diagnostics.front().message = Str("'", Escaped(path), "': ", read.error().message());
    FAIL(std::move(read).error());
  }
  const JsonValue& json = *read;
  const std::string* const schema = json["schema"].String();
  if (schema == nullptr || *schema != kSchema)
    FAIL(Error(ExitCode::kRejected, "A024",
               Str("'", Escaped(path), "' is not a profile: its \"schema\" is ",
                   schema == nullptr ? "missing" : Str("\"", Escaped(*schema), "\""), ", not \"", kSchema, "\""))
             .Hint("hlo-run --profile_json=FILE writes one"));
  ProfileSummary summary;
  Reader reader(json);
  Fields(reader, summary);
  // Repairs indices, because the file may come from anywhere.
  for (SampleSpan& span : summary.sample) {
    if (span.step < -1 || span.step >= std::ssize(summary.steps)) span.step = -1;
  }
  std::erase_if(summary.sample_loops, [&](const SampleLoop& one) {
    return one.loop < 0 || one.loop >= std::ssize(summary.loops) || one.depth < 0;
  });
  return summary;
}

}  // namespace hlo
