#include "driver/profile/trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/files.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/text.h"
#include "driver/profile/figures.h"
#include "driver/profile/merged_lane.h"

namespace hlo {
namespace {

using Event = gpu::TimelineEvent;

constexpr int kHost = 1, kDevice = 100;
// Thread numbers. Overlapping events move to the next lanes.
constexpr int kMain = 1, kRunsOfHost = 2, kLauncher = 3, kCompute = 1, kCopies = 40, kLoops = 60, kScopes = 70,
              kSources = 80, kGaps = 90, kRuns = 95;

void AppendMicroseconds(std::string& out, int64_t ns) {
  if (ns < 0) out += '-', ns = -ns;
  AppendTo(out, ns / 1000);
  const auto rest = static_cast<int>(ns % 1000);
  out += '.';
  for (const int digit : {rest / 100, rest / 10 % 10, rest % 10}) out += static_cast<char>('0' + digit);
}

void AppendTenths(std::string& out, double value) {
  const int64_t tenths = std::llround(value * 10);
  AppendTo(out, tenths / 10);
  out += '.';
  AppendTo(out, tenths % 10);
}

std::string Quoted(std::string_view text) {
  JsonWriter json;
  json.Value(text);
  return json.text();
}

// Arguments of a step as JSON, without the closing brace.
std::string ArgsOf(const ProfiledStep& step, const std::string& module) {
  JsonWriter json;
  json.Open('{').Key("hlo_op").Value(step.name).Key("module").Value(module);
  if (!step.op_name.empty()) json.Key("op_name").Value(step.op_name);
  if (!step.source.empty()) json.Key("source").Value(step.source);
  json.Key("kind").Value(step.kind).Key("how").Value(step.how).Key("dtype_class").Value(step.bits);
  json.Key("tc_eligible").Value(step.tensor_cores.eligible).Key("tc_used").Value(step.tensor_cores.used);
  if (!step.library.empty()) json.Key("library").Value(step.library);
  // Each of several kernels has an entry in "launches".
  const auto size = [&](const LaunchSize& one) {
    json.Key("grid").Open('[').Value(one.blocks).Value(1).Value(1).Close(']');
    json.Key("block").Open('[').Value(one.threads).Value(1).Value(1).Close(']').Key("smem").Value(one.shared_bytes);
  };
  if (step.sizes.size() == 1) size(step.sizes[0]);
  if (step.sizes.size() > 1) {
    json.Key("launches").Open('[');
    for (const LaunchSize& one : step.sizes) json.Open('{'), size(one), json.Close('}');
    json.Close(']');
  }
  json.Key("bytes").Value(static_cast<int64_t>(step.cost.bytes()));
  json.Key("flops").Value(static_cast<int64_t>(step.cost.flops + step.cost.transcendentals));
  return json.text();
}

class Tracer {
 public:
  Tracer(const Profile& profile, const TraceOptions& options, const TraceSink& sink)
      : profile_(profile), options_(options), sink_(sink) {
    for (const ProfiledStep& step : profile.steps) {
      names_.push_back(Quoted(step.name));
      args_.push_back(ArgsOf(step, profile.module_name));
    }
    if (!profile.runs.empty()) origin_ = profile.runs.front().begin;
    for (const HostSpan& span : options.before) {
      if (span.depth == 0) origin_ -= static_cast<int64_t>(span.ms * 1e6);
    }
  }

  Result<TraceReport> Write() {
    Count();
    buffer_ = Str("{\"displayTimeUnit\":\"ms\",\"otherData\":", OtherData(), ",\"traceEvents\":[\n");
    if (report_.kept < report_.all)
      Emit(Str("{\"ph\":\"i\",\"s\":\"g\",\"pid\":", kHost, ",\"tid\":", kMain,
               ",\"ts\":0,\"name\":\"TRACE TRUNCATED: kept ", report_.kept, " of ", report_.all, "\""));
    NameProcesses();
    if (!profile_.runs.empty()) HostSpans(options_.before, origin_);
    int64_t left = report_.kept, number = 0;
    for (const gpu::Timeline& run : profile_.runs) {
      if (left <= 0) break;
      TRY(WriteRun(run, number++, &left));
    }
    HostSpans(options_.after, profile_.runs.empty() ? origin_ : profile_.runs.back().end);
    for (const auto& [lane, name] : lanes_) NameThread(kDevice, lane, name);
    buffer_ += "\n]}\n";
    TRY(sink_(buffer_));
    return report_;
  }

 private:
  void Count() {
    for (const gpu::Timeline& run : profile_.runs) {
      report_.all += run.dropped;
      report_.kept +=
          std::ranges::count_if(run.events, [](const Event& event) { return event.kind != Event::Kind::kWait; });
    }
    report_.all += report_.kept;
    if (options_.most_events > 0) report_.kept = std::min(report_.kept, options_.most_events);
  }

  std::string OtherData() const {
    JsonWriter json;
    json.Open('{').Key("tool").Value("hlokit " HLO_VERSION).Key("argv").Value(Join(options_.flags, " "));
    json.Key("path").Value(profile_.path).Key("module").Value(profile_.module_name);
    json.Key("module_fingerprint").Value(Format("%016llx", static_cast<unsigned long long>(profile_.input)));
    json.Key("platform").Value(profile_.platform).Key("device").Value(profile_.device);
    json.Key("target").Value(profile_.target);
    json.Key("timing").Value(TimingText(profile_));
    json.Key("host_lane").Value("durations as measured, laid end to end");
    json.Key("dropped").Value(report_.all - report_.kept).Close('}');
    return json.text();
  }

  // The event lacks its closing brace.
  void Emit(std::string_view event) {
    if (!first_) buffer_ += ",\n";
    first_ = false;
    buffer_ += event;
    buffer_ += '}';
  }

  Status Flush() {
    constexpr size_t kPiece = 1 << 20;
    if (buffer_.size() < kPiece) return {};
    TRY(sink_(buffer_));
    buffer_.clear();
    return {};
  }

  void NameThread(int process, int thread, std::string_view name) {
    Emit(Str("{\"ph\":\"M\",\"pid\":", process, ",\"tid\":", thread,
             ",\"name\":\"thread_name\",\"args\":{\"name\":", Quoted(name), "}"));
    Emit(Str("{\"ph\":\"M\",\"pid\":", process, ",\"tid\":", thread,
             ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":", thread, "}"));
  }

  void NameProcesses() {
    const auto process = [&](int number, std::string_view name) {
      Emit(Str("{\"ph\":\"M\",\"pid\":", number, ",\"name\":\"process_name\",\"args\":{\"name\":", Quoted(name), "}"));
    };
    process(kHost, "host");
    process(kDevice, Str("device 0 (", profile_.platform, " ", profile_.device, ")"));
    NameThread(kHost, kMain, "main");
    NameThread(kHost, kRunsOfHost, "profiled runs");
    if (!profile_.is_host) NameThread(kHost, kLauncher, "launcher");
  }

  // `args` is a JSON object without its closing brace, or "".
  void Complete(int process, int thread, int64_t begin, int64_t end, std::string_view quoted_name,
                std::string_view category, std::string_view args = "") {
    if (!first_) buffer_ += ",\n";
    first_ = false;
    buffer_ += "{\"ph\":\"X\",\"pid\":";
    AppendTo(buffer_, process);
    buffer_ += ",\"tid\":";
    AppendTo(buffer_, thread);
    buffer_ += ",\"ts\":";
    AppendMicroseconds(buffer_, begin - origin_);
    buffer_ += ",\"dur\":";
    AppendMicroseconds(buffer_, end - begin);
    buffer_ += ",\"name\":";
    buffer_ += quoted_name;
    buffer_ += ",\"cat\":\"";
    buffer_ += category;
    buffer_ += '"';
    if (!args.empty()) {
      buffer_ += ",\"args\":";
      buffer_ += args;
      buffer_ += '}';
    }
    buffer_ += '}';
  }

  void Counter(int64_t at, std::string_view name, std::string_view unit, double value) {
    std::string event = Str("{\"ph\":\"C\",\"pid\":", kDevice, ",\"name\":\"", name, "\",\"ts\":");
    AppendMicroseconds(event, at - origin_);
    event += Str(",\"args\":{\"", unit, "\":");
    AppendTenths(event, value);
    Emit(event + "}");
  }

  void HostSpans(const std::vector<HostSpan>& spans, int64_t begin) {
    std::vector<int64_t> next = {begin};
    for (const HostSpan& span : spans) {
      next.resize(span.depth + 2);
      const int64_t from = next[span.depth], until = from + static_cast<int64_t>(span.ms * 1e6);
      Complete(kHost, kMain, from, until, Quoted(span.name), "host");
      next[span.depth] = until;
      next[span.depth + 1] = from;
    }
  }

  // The first lane from `first` on that is free at `begin`.
  int FreeLane(int first, std::string_view name, int64_t begin, int64_t end) {
    for (int lane = first;; ++lane) {
      int64_t& until = lane_ends_.try_emplace(lane, INT64_MIN).first->second;
      if (until > begin) continue;
      until = end;
      lanes_.try_emplace(lane, lane == first ? std::string(name) : Str(name, " (", lane - first + 1, ")"));
      return lane;
    }
  }

  int Step(const Event& event) {
    const ProfiledStep& step = profile_.steps[event.step];
    const double ns = static_cast<double>(std::max<int64_t>(1, event.end - event.begin));
    scratch_ = args_[event.step];
    scratch_ += ",\"GB/s\":";
    AppendTenths(scratch_, step.cost.bytes() / ns);
    scratch_ += ",\"GFLOP/s\":";
    AppendTenths(scratch_, (step.cost.flops + step.cost.transcendentals) / ns);
    scratch_ += ",\"roofline_pct\":";
    AppendTenths(scratch_, 100 * step.least_seconds * 1e9 / ns);
    const int lane = FreeLane(kCompute, "compute", event.begin, event.end);
    constexpr std::string_view kCategories[] = {"kernel", "kernel", "copy", "fill", "collective", "interpreter"};
    Complete(kDevice, lane, event.begin, event.end, names_[event.step], kCategories[static_cast<int>(step.Class())],
             scratch_);
    return lane;
  }

  int CopiesOfPlan(const Event& event) {
    scratch_ = "{\"bytes\":";
    AppendTo(scratch_, event.bytes);
    if (event.step >= 0) scratch_ += Str(",\"before\":", names_[event.step]);
    const int lane = FreeLane(kCopies, "copies", event.begin, event.end);
    Complete(kDevice, lane, event.begin, event.end, "\"copies inserted by the buffer plan\"", "copy", scratch_);
    return lane;
  }

  // Writes the call that queued the event, and an arrow. A graph has one call and arrow, to its first event.
  void Launch(const Event& event, std::string_view quoted_name, int lane) {
    if (event.graph >= 0) {
      if (event.graph < graphs_) return;
      graphs_ = event.graph + 1;
      quoted_name = "\"graph\"";
    }
    Complete(kHost, kLauncher, event.queued, event.queue_end, quoted_name, "launch");
    const int64_t id = ++flows_;
    const auto end = [&](std::string_view phase, int process, int thread, int64_t at) {
      std::string text = Str("{\"ph\":", phase, ",\"id\":", id, ",\"pid\":", process, ",\"tid\":", thread, ",\"ts\":");
      AppendMicroseconds(text, at - origin_);
      Emit(text + ",\"name\":\"launch\",\"cat\":\"flow\"");
    };
    end("\"s\"", kHost, kLauncher, event.queued);
    end("\"f\",\"bp\":\"e\"", kDevice, lane, event.begin);
  }

  Status WriteRun(const gpu::Timeline& run, int64_t number, int64_t* left) {
    const auto merged = [&](int thread) {
      return [this, thread](size_t /*depth*/, int64_t begin, int64_t end, std::string_view name) {
        Complete(kDevice, thread, begin, end, Quoted(name), "merged");
      };
    };
    MergedLane<int64_t> scopes(/*is_nested=*/true), sources(/*is_nested=*/false);
    int64_t until = run.begin, live = -1;
    graphs_ = 0;
    for (const Event& event : run.events) {
      if (event.kind == Event::Kind::kWait) {
        if (event.graph >= 0) {
          Complete(kDevice, FreeLane(kCompute, "compute", event.begin, event.end), event.begin, event.end,
                   "\"condition\"", "condition");
        } else if (!profile_.is_host) Complete(kHost, kLauncher, event.queued, event.queue_end, "\"wait\"", "sync");
        continue;
      }
      if (--*left < 0) break;
      const bool is_step = event.kind == Event::Kind::kStep && event.step >= 0;
      const int lane = is_step ? Step(event) : CopiesOfPlan(event);
      if (!profile_.is_host) Launch(event, is_step ? names_[event.step] : "\"copies\"", lane);
      until = event.end;
      if (is_step) {
        const ProfiledStep& step = profile_.steps[event.step];
        scopes.Add(step.op_name, event.begin, event.end, merged(kScopes));
        sources.Add(step.source, event.begin, event.end, merged(kSources));
        if (step.live_bytes != std::exchange(live, step.live_bytes))
          Counter(event.begin, "memory in use", "MiB", static_cast<double>(step.live_bytes) / (1 << 20));
      }
      TRY(Flush());
    }
    scopes.Close(0, merged(kScopes));
    sources.Close(0, merged(kSources));
    const bool is_whole = *left >= 0 && run.dropped == 0;
    if (is_whole) until = run.end;
    for (const auto& [process, lane] : {std::pair(kDevice, kRuns), std::pair(kHost, kRunsOfHost)})
      Complete(process, lane, run.begin, until, Quoted(Str("run ", number)), "run");
    lanes_[kRuns] = "runs";
    lanes_[kScopes] = "name scope";
    lanes_[kSources] = "source line";
    Loops(run, until);
    Gaps(run, until);
    BusyCounter(run, until);
    return Flush();
  }

  void Loops(const gpu::Timeline& run, int64_t until) {
    const auto name_of = [&](int loop) {
      const auto known = profile_.loops.find(loop);
      return known == profile_.loops.end() ? Str("while ", loop) : known->second.name;
    };
    for (const gpu::TimelineTrip& trip : run.trips) {
      if (trip.end <= until && trip.ran && trip.end != 0)
        Complete(kDevice, kLoops, trip.begin, trip.end, Quoted(Str(name_of(trip.loop), " trip ", trip.number)), "trip");
    }
    for (const LoopExecution& one : LoopExecutionsOf(run, until)) {
      lanes_[kLoops] = "loops";
      Complete(kDevice, kLoops, one.begin, one.end, Quoted(name_of(one.loop)), "loop", Str("{\"trips\":", one.trips));
    }
  }

  // Omits gaps below kShortNs, which occur between any two steps and would not be visible.
  void Gaps(const gpu::Timeline& run, int64_t until) {
    constexpr int64_t kShortNs = 1000;
    for (const Gap& gap : GapsOf(run, profile_)) {
      if (gap.end > until) break;
      if (gap.length() < kShortNs) continue;
      lanes_[kGaps] = "gaps";
      std::string args = Str("{\"cause\":\"", ToString(gap.cause), "\"");
      if (gap.after >= 0) args += Str(",\"after\":", names_[gap.after]);
      if (gap.before >= 0) args += Str(",\"before\":", names_[gap.before]);
      Complete(kDevice, kGaps, gap.begin, gap.end, Str("\"gap: ", ToString(gap.cause), "\""), "gap", args);
    }
  }

  void BusyCounter(const gpu::Timeline& run, int64_t until) {
    constexpr int64_t kWindows = 100;
    const int64_t window = std::max<int64_t>(1, (until - run.begin) / kWindows);
    std::vector<int64_t> busy(kWindows + 1);
    for (const Event& event : run.events) {
      if (event.kind == Event::Kind::kWait || event.end > until) continue;
      for (int64_t at = event.begin; at < event.end;) {
        const int64_t number = std::clamp<int64_t>((at - run.begin) / window, 0, kWindows);
        const int64_t end = number == kWindows ? event.end : std::min(event.end, run.begin + (number + 1) * window);
        busy[number] += end - at;
        at = end;
      }
    }
    for (int64_t i = 0; i < kWindows; ++i)
      Counter(run.begin + i * window, "busy", "%", 100 * static_cast<double>(busy[i]) / static_cast<double>(window));
    Counter(until, "busy", "%", 0);
  }

  const Profile& profile_;
  const TraceOptions& options_;
  const TraceSink& sink_;
  std::vector<std::string> names_, args_;
  int64_t origin_ = 0;
  TraceReport report_;
  std::string buffer_, scratch_;
  bool first_ = true;
  int64_t flows_ = 0;
  int graphs_ = 0;
  std::map<int, int64_t> lane_ends_;
  std::map<int, std::string> lanes_;
};

}  // namespace

Result<TraceReport> WriteTrace(const Profile& profile, const TraceOptions& options, const TraceSink& sink) {
  return Tracer(profile, options, sink).Write();
}

Result<TraceReport> WriteTraceFile(const Profile& profile, const TraceOptions& options, const std::string& path) {
  FileWriter file = TRY(FileWriter::Open(path));
  if (!path.ends_with(".gz")) {
    const TraceReport report =
        TRY(WriteTrace(profile, options, [&](std::string_view bytes) { return file.Write(bytes); }));
    TRY(file.Commit());
    return report;
  }
  GzipStream gzip;
  const TraceReport report =
      TRY(WriteTrace(profile, options, [&](std::string_view bytes) { return file.Write(gzip.Add(bytes)); }));
  TRY(file.Write(gzip.Finish()));
  TRY(file.Commit());
  return report;
}

}  // namespace hlo
