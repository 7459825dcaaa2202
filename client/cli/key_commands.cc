// show, log and retry: one key.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/command.h"
#include "client/cli/json.h"
#include "client/cli/target.h"
#include "client/cli/text.h"
#include "client/fetch_call.h"
#include "io/status_macros.h"

namespace neffcache::cli {
namespace {

constexpr uint64_t kLogLimit = uint64_t{1} << 30;

void AddEntryRows(const v1::Entry& entry, Table& table) {
  const v1::KeyMaterial& material = entry.material();
  table.Add({"state", entry.has_ready() ? "ready" : "failed"});
  if (!entry.graph_name().empty()) table.Add({"graph", entry.graph_name()});
  table.Add({"fingerprint", absl::StrCat(material.fingerprint().tag(), ":",
                                         Hex(material.fingerprint().digest()))});
  table.Add({"toolchain",
             absl::StrCat(material.toolchain().name(), " ", material.toolchain().version())});
  table.Add({"options", absl::StrJoin(material.options(), " ")});
  if (entry.has_ready()) {
    table.Add({"artifact",
               absl::StrCat(Hex(entry.ready().digest()), ", ", BytesText(entry.ready().size()))});
  }
  table.Add({"created", TimeText(entry.created_at_ms())});
  if (entry.compile_time_ms() != 0) {
    table.Add({"compiled in", DurationText(absl::Milliseconds(entry.compile_time_ms()))});
  }
  if (entry.peak_memory_bytes() != 0) {
    table.Add({"peak memory", BytesText(entry.peak_memory_bytes())});
  }
  if (!entry.worker().empty()) table.Add({"worker", entry.worker()});
  if (entry.instructions() != 0) table.Add({"instructions", absl::StrCat(entry.instructions())});
  if (entry.has_failed()) {
    const v1::Failure& failure = entry.failed();
    table.Add({"failure",
               absl::StrCat(ToJson(failure)["class"].get<std::string>(), ": ", failure.message())});
    table.Add({"exit code", absl::StrCat(failure.exit_code())});
    table.Add({"attempts", absl::StrCat(failure.attempts())});
    if (failure.remembered_until_ms() != 0) {
      table.Add({"remembered until", TimeText(failure.remembered_until_ms())});
    }
  }
}

void AddCompileRows(const v1::Compile& compile, Table& table) {
  table.Add({"compile", std::string(StateName(compile.state()))});
  table.Add({"for", DurationText(absl::Milliseconds(compile.elapsed_ms()))});
  if (!compile.worker().empty()) table.Add({"on", compile.worker()});
  if (!compile.reason().empty()) table.Add({"waits because", compile.reason()});
  if (!compile.last_log_line().empty()) table.Add({"last log line", compile.last_log_line()});
}

absl::Status Show(const std::string& argument, Session& session) {
  ASSIGN_OR_RETURN(const Key key, ResolveKeyArgument(session, argument));
  ASSIGN_OR_RETURN(Daemon * daemon, session.daemon());
  ASSIGN_OR_RETURN(const v1::ShowKeyResponse shown, AdminClient(*daemon).ShowKey(key));
  Table table;
  Json& document = session.console().document();
  document["key"] = key.Hex();
  table.Add({"key", key.Hex()});
  if (shown.has_entry()) {
    document["entry"] = ToJson(shown.entry());
    AddEntryRows(shown.entry(), table);
  }
  if (shown.has_compile()) {
    document["compile"] = ToJson(shown.compile());
    AddCompileRows(shown.compile(), table);
  }
  if (shown.has_miss()) {
    document["miss"] = ToJson(shown.miss());
    table.Add({"why it was compiled", shown.miss().explanation()});
  }
  document["bundles"] = Json::array();
  for (const std::string& bundle : shown.bundles()) document["bundles"].push_back(bundle);
  if (shown.bundles_size() > 0) table.Add({"bundles", absl::StrJoin(shown.bundles(), ", ")});
  for (const std::string& line : table.Lines()) session.console().Print(line);
  return absl::OkStatus();
}

// The whole log where it is kept, else the part that a failure carries; nothing where the compiler
// printed nothing.
absl::Status GiveLog(Daemon& daemon, const Key& key,
                     absl::FunctionRef<absl::Status(absl::string_view)> sink) {
  ASSIGN_OR_RETURN(const v1::ShowKeyResponse shown, AdminClient(daemon).ShowKey(key));
  if (!shown.entry().log_digest().empty()) {
    ASSIGN_OR_RETURN(const Digest digest, Digest::FromBytes(shown.entry().log_digest()));
    return FetchDecompressed(daemon, v1::FetchRequest::KIND_LOG, digest, kLogLimit, sink);
  }
  if (!shown.entry().failed().log_tail().empty()) return sink(shown.entry().failed().log_tail());
  if (shown.has_entry()) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("reading the log of key ", key.Hex(), ": its compile is not finished"));
}

absl::Status Log(const std::string& argument, Session& session) {
  ASSIGN_OR_RETURN(const Key key, ResolveKeyArgument(session, argument));
  ASSIGN_OR_RETURN(Daemon * daemon, session.daemon());
  Console& console = session.console();
  std::string whole;
  bool printed = false;
  RETURN_IF_ERROR(GiveLog(*daemon, key, [&](absl::string_view text) {
    printed = printed || !text.empty();
    console.PrintRaw(text);
    if (console.json()) whole.append(text.data(), text.size());
    return absl::OkStatus();
  }));
  if (!printed) {
    console.Note(
        absl::StrCat("the log of key ", key.Hex(), " is empty: its compiler printed nothing"));
  }
  console.document()["key"] = key.Hex();
  console.document()["log"] = std::move(whole);
  return absl::OkStatus();
}

absl::Status Retry(const std::string& argument, Session& session) {
  ASSIGN_OR_RETURN(const Key key, ResolveKeyArgument(session, argument));
  ASSIGN_OR_RETURN(Daemon * daemon, session.daemon());
  RETURN_IF_ERROR(AdminClient(*daemon).Retry(key));
  session.console().document()["key"] = key.Hex();
  session.console().Print(absl::StrCat("the failure of key ", key.Hex(),
                                       " is forgotten; the next request compiles it again"));
  return absl::OkStatus();
}

Command AddKeyCommand(CLI::App& app, Session& session, const char* name, const char* help,
                      absl::Status (*run)(const std::string&, Session&)) {
  auto key = std::make_shared<std::string>();
  CLI::App* parsed = app.add_subcommand(name, help);
  parsed->add_option("KEY", *key, "A key, or its first 8 or more digits")->required();
  return {parsed, false, [key, run, &session] { session.console().Report(run(*key, session)); }};
}

}  // namespace

Command AddShow(CLI::App& app, Session& session) {
  return AddKeyCommand(app, session, "show", "Print all that is known of a key", Show);
}

Command AddLog(CLI::App& app, Session& session) {
  return AddKeyCommand(app, session, "log", "Print the compiler's log of a key", Log);
}

Command AddRetry(CLI::App& app, Session& session) {
  return AddKeyCommand(app, session, "retry", "Forget a remembered failure", Retry);
}

}  // namespace neffcache::cli
