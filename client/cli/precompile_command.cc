#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/batch_text.h"
#include "client/cli/command.h"
#include "client/cli/compile_batch.h"
#include "client/cli/difference_output.h"
#include "client/cli/graph_reading.h"
#include "client/cli/interrupt.h"
#include "client/cli/json.h"
#include "client/cli/rank_baked_in.h"
#include "client/cli/target.h"
#include "client/cli/text.h"
#include "client/cli/toolchain_choice.h"
#include "client/toolchains_call.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache::cli {
namespace {

struct PrecompileOptions {
  std::vector<std::string> graphs;
  std::string toolchain;
  std::string bundle;
  size_t jobs = 256;
  bool exact = false;
  bool no_wait = false;
  bool retry_failed = false;
  bool wait_for_worker = false;
  double worker_timeout = 60;
};

// One run of the command. Graphs with one key are one item of the batch.
class Precompile {
 public:
  Precompile(const PrecompileOptions& options, Session& session)
      : options_(options),
        session_(session),
        console_(session.console()),
        period_(console_.progress_is_drawn() ? absl::Milliseconds(200) : absl::Seconds(10)) {}

  void Run() {
    ToolchainChoice choice(session_, options_.toolchain, AskDaemon::kYes);
    absl::StatusOr<Toolchain> toolchain = choice.Get();
    if (!toolchain.ok()) return console_.Report(toolchain.status());
    toolchain_ = *std::move(toolchain);

    CompileBatch batch(ReadGraphs(), BatchOptions(), options_.jobs, WorkerGrace(),
                       [this] { return session_.NewDaemon(); });
    const absl::Time begin = absl::Now();
    BatchEta eta;
    const InterruptGuard guard;
    batch.Run(
        period_,
        [&](const BatchCounts& counts) {
          const absl::Duration elapsed = absl::Now() - begin;
          console_.ShowProgress(absl::StrCat(
              "precompiling: ", BatchProgressText(counts, elapsed, eta.Left(counts, elapsed))));
        },
        InterruptGuard::requested);
    console_.ClearProgress();
    const absl::Duration elapsed = absl::Now() - begin;
    const bool interrupted = AnyInterrupted(batch);
    ShowGraphs(batch, interrupted ? Show::kDocument : Show::kAll);
    ShowSummary(batch.counts(), elapsed, interrupted ? Show::kDocument : Show::kAll);
    if (interrupted) return SayInterrupted(batch);
    SayRanksBakedIn();
    ReportFailures(batch);
  }

 private:
  // What became of a graph before the batch.
  struct Graph {
    absl::Status trouble;  // Unreadable or uncacheable.
    bool uncacheable = false;
    size_t item = 0;  // In the batch.
  };

  std::vector<IdentifiedSpec> ReadGraphs() {
    CompileSpec common;
    common.flags = session_.flags;
    common.toolchain_name = toolchain_.name;
    common.toolchain_version = toolchain_.version;
    common.bundle = options_.bundle;
    common.exact_order = options_.exact;
    std::vector<absl::StatusOr<IdentifiedSpec>> read =
        IdentifyAll(options_.graphs, common, period_, [this](size_t done) {
          console_.ShowProgress(
              absl::StrCat("reading graphs: ", done, "/", options_.graphs.size(), " done"));
        });
    std::vector<IdentifiedSpec> specs;
    absl::flat_hash_map<Key, size_t> item_of;
    size_t opaque = 0;  // Though their names say protobuf.
    for (size_t i = 0; i < read.size(); ++i) {
      Graph& graph = graphs_.emplace_back();
      if (!read[i].ok()) {
        graph.trouble = read[i].status();
        continue;
      }
      graph.trouble = CheckCacheable(*read[i]);
      if (!graph.trouble.ok()) {
        graph.uncacheable = true;
        continue;
      }
      // The form says HLO and the bytes end too early: no compiler takes it, so nobody should wait
      // for one or remember that it failed. What is only newer than we know is another matter.
      if (read[i]->graph.cut_short) {
        graph.trouble = absl::InvalidArgumentError(absl::StrCat(
            options_.graphs[i], " is not a whole HLO module: ", read[i]->graph.raw_reason,
            "; write it again"));
        continue;
      }
      opaque +=
          read[i]->graph.form == GraphForm::kOpaque && absl::EndsWith(options_.graphs[i], ".pb");
      const auto [known, is_new] = item_of.try_emplace(read[i]->key, specs.size());
      graph.item = known->second;
      if (is_new) candidates_.push_back(ToCandidate(*read[i]));
      if (is_new) specs.push_back(*std::move(read[i]));
    }
    if (opaque != 0) {
      console_.Note(absl::StrCat(
          opaque == 1 ? "one file named *.pb is" : absl::StrCat(opaque, " files named *.pb are"),
          " neither HLO nor MLIR, as if cut short; the compiler gets the bytes as they are"));
    }
    return specs;
  }

  WaitOptions BatchOptions() const {
    WaitOptions options;
    options.purpose = CompilePurpose::kPrecompile;
    options.retry_failed = options_.retry_failed;
    options.refuse_unknown_toolchain = !options_.wait_for_worker && WorkersAreConnected();
    options.until_queued = options_.no_wait;
    return options;
  }

  absl::Duration WorkerGrace() const {
    return options_.wait_for_worker ? absl::InfiniteDuration()
                                    : absl::Seconds(options_.worker_timeout);
  }

  // A daemon that has just started, or starts workers as compiles come, does not know yet which
  // toolchains it will have.
  bool WorkersAreConnected() const {
    absl::StatusOr<Daemon*> daemon = session_.daemon();
    if (!daemon.ok()) return false;
    const absl::StatusOr<std::vector<Toolchain>> offered = ListToolchainsThrough(**daemon);
    return offered.ok() && !offered->empty();
  }

  // What a command that was interrupted shows is one line.
  enum class Show { kAll, kDocument };

  static bool AnyInterrupted(const CompileBatch& batch) {
    return std::any_of(batch.items().begin(), batch.items().end(),
                       [](const auto& item) { return absl::IsCancelled(item.result.status()); });
  }

  void SayInterrupted(const CompileBatch& batch) {
    const size_t left = batch.left_behind();
    const std::string what = left == 0   ? "no compile is left with the daemon"
                             : left == 1 ? "1 compile goes on in the daemon"
                                         : absl::StrCat(left, " compiles go on in the daemon");
    console_.Note(absl::StrCat("interrupted; ", what, " at ", session_.daemon_address,
                               left == 0 ? "" : " (neffcache ls compiles)",
                               "; the same command again picks up where this one stopped"));
    console_.Interrupt();
  }

  static const char* StateOf(const CompileBatch::Item& item) {
    if (absl::IsCancelled(item.result.status())) return "interrupted";
    if (!item.result.ok()) return "error";
    if (item.result->failure.has_value()) return "failed";
    if (!item.result->artifact.has_value()) return "queued";
    return item.result->compiled ? "compiled" : "hit";
  }

  // What the compile took, or what a hit saved; for a failure, how long it took to learn of it.
  static std::string TimeOf(const CompileBatch::Item& item) {
    if (!item.result.ok()) return "-";
    if (item.result->failure.has_value()) return DurationText(item.took);
    const absl::Duration time = item.result->compile_time;
    if (time == absl::ZeroDuration()) return "-";
    return item.result->compiled ? DurationText(time) : absl::StrCat("saved ", DurationText(time));
  }

  void ShowGraphs(const CompileBatch& batch, Show show) {
    Table table;
    Json rows = Json::array();
    for (size_t i = 0; i < graphs_.size(); ++i) {
      Json row = {{"graph", options_.graphs[i]}};
      if (!graphs_[i].trouble.ok()) {
        const char* state = graphs_[i].uncacheable ? "uncacheable" : "error";
        row["state"] = state;
        table.Add({state, "-", "-", options_.graphs[i]});
      } else {
        const CompileBatch::Item& item = batch.items()[graphs_[i].item];
        AddOutcome(item, row);
        table.Add(
            {StateOf(item), TimeOf(item), item.spec.key.Hex().substr(0, 16), options_.graphs[i]});
      }
      rows.push_back(std::move(row));
    }
    console_.document()["graphs"] = std::move(rows);
    if (show == Show::kDocument) return;
    for (const std::string& line : table.Lines()) console_.Print(line);
  }

  static void AddOutcome(const CompileBatch::Item& item, Json& row) {
    row["key"] = item.spec.key.Hex();
    row["state"] = StateOf(item);
    row["seconds"] = Seconds(item.took);
    if (!item.result.ok()) return;
    const CompileOutcome& outcome = *item.result;
    if (outcome.artifact.has_value()) row["artifact"] = ToJson(*outcome.artifact);
    if (outcome.failure.has_value()) row["failure"] = ToJson(*outcome.failure);
    if (outcome.compile_time != absl::ZeroDuration()) {
      row["compile_time"] = Seconds(outcome.compile_time);
    }
  }

  void ShowSummary(BatchCounts counts, absl::Duration elapsed, Show show) {
    for (const Graph& graph : graphs_) {
      if (!graph.trouble.ok()) ++(graph.uncacheable ? counts.uncacheable : counts.errors);
    }
    Json& document = console_.document();
    document["toolchain"] = ToJson(toolchain_);
    if (!options_.bundle.empty()) document["bundle"] = options_.bundle;
    document["summary"] = {{"graphs", graphs_.size()},   {"keys", counts.total},
                           {"hits", counts.hits},        {"compiled", counts.compiled},
                           {"queued", counts.submitted}, {"failed", counts.failed},
                           {"errors", counts.errors},    {"uncacheable", counts.uncacheable},
                           {"seconds", Seconds(elapsed)}};
    if (show == Show::kDocument) return;
    console_.Print(absl::StrCat(graphs_.size(), graphs_.size() == 1 ? " graph, " : " graphs, ",
                                BatchSummaryText(counts, elapsed)));
  }

  // The ranks of a job need one compile for all where their graphs differ in nothing else.
  void SayRanksBakedIn() {
    Json groups = Json::array();
    for (const RankGroup& group : FindRanksBakedIn(candidates_).groups) {
      console_.Note(absl::StrCat(group.names.front(), " and ", group.names.size() - 1,
                                 group.names.size() == 2 ? " other graph: " : " other graphs: ",
                                 group.baked_in.Summary()));
      Json json = ToJson(group.baked_in);
      json["graphs"] = group.names;
      groups.push_back(std::move(json));
    }
    if (!groups.empty()) console_.document()["rank_baked_in"] = std::move(groups);
  }

  static RankCandidate ToCandidate(const IdentifiedSpec& spec) {
    const std::string& path = spec.spec.graph_path;
    return {path, spec.material.fingerprint, spec.graph.instructions,
            [path]() -> absl::StatusOr<std::string> {
              ASSIGN_OR_RETURN(const FileContents contents, FileContents::Load(path));
              return std::string(contents.bytes());
            }};
  }

  void ReportFailures(const CompileBatch& batch) {
    for (const Graph& graph : graphs_) console_.Report(graph.trouble);
    bool unreachable_reported = false;
    for (const CompileBatch::Item& item : batch.items()) {
      if (!item.result.ok()) {
        // Said once: it is the same for all.
        if (ExitStatusOf(item.result.status()) == ExitStatus::kUnreachable &&
            std::exchange(unreachable_reported, true)) {
          continue;
        }
        console_.Report(item.result.status());
      } else if (item.result->failure.has_value()) {
        ReportFailure(item.spec, *item.result->failure);
      }
    }
  }

  void ReportFailure(const IdentifiedSpec& spec, const CompileFailure& failure) {
    std::string sentence = absl::StrCat("compiling ", spec.spec.graph_path, " failed (",
                                        failure.failure_class, "): ", failure.message);
    if (failure.remembered) {
      absl::StrAppend(&sentence, "; see neffcache log ", spec.key.Hex().substr(0, 16));
    }
    console_.Report(absl::AbortedError(sentence));
  }

  const PrecompileOptions& options_;
  Session& session_;
  Console& console_;
  const absl::Duration period_;
  Toolchain toolchain_;
  std::vector<Graph> graphs_;  // As the command line has them.
  std::vector<RankCandidate> candidates_;
};

}  // namespace

Command AddPrecompile(CLI::App& app, Session& session) {
  auto options = std::make_shared<PrecompileOptions>();
  CLI::App* parsed = app.add_subcommand(
      "precompile", "Compile graphs ahead of time and wait for all of them [-- FLAGS]");
  parsed->add_option("GRAPH", options->graphs, "Graph files")->required();
  AddBundleOption(*parsed, options->bundle);
  parsed->add_option("--toolchain", options->toolchain, "NAME or NAME=VERSION");
  parsed->add_option("--jobs", options->jobs, "Graphs asked for at a time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  parsed->add_flag("--exact", options->exact,
                   "Tell graphs apart by the order in which instructions are written");
  parsed->add_flag("--no-wait", options->no_wait, "Return once all are queued");
  parsed->add_flag("--retry-failed", options->retry_failed, "Forget remembered failures");
  parsed->add_flag("--wait-for-worker", options->wait_for_worker,
                   "Queue compiles even when the connected workers offer other toolchains only");
  parsed
      ->add_option("--worker-timeout", options->worker_timeout,
                   "Seconds in which a worker with the toolchain may connect when none is there")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return {parsed, true, [options, &session] { Precompile(*options, session).Run(); }};
}

}  // namespace neffcache::cli
