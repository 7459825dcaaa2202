#include "neffcache/client.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/compile_call.h"
#include "client/daemon.h"
#include "client/fetch_call.h"
#include "client/identified_spec.h"
#include "client/lookup_call.h"
#include "client/publish_call.h"
#include "client/toolchains_call.h"
#include "client/verified_file.h"
#include "client/wire.h"
#include "io/status_macros.h"
#include "neffcache/v1/cache.grpc.pb.h"

namespace neffcache {
namespace {

// More than workers keep of a compiler's output.
constexpr uint64_t kLogLimit = uint64_t{64} << 20;

absl::StatusOr<std::vector<Key>> ParseKeys(absl::Span<const std::string> keys) {
  std::vector<Key> parsed;
  parsed.reserve(keys.size());
  for (const std::string& hex : keys) {
    absl::StatusOr<Key> key = Key::FromHex(hex);
    if (!key.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("looking up key \"", hex, "\": it is not 64 hex digits"));
    }
    parsed.push_back(*key);
  }
  return parsed;
}

class DaemonClient final : public Client {
 public:
  explicit DaemonClient(std::unique_ptr<Daemon> daemon) : daemon_(std::move(daemon)) {}

  absl::StatusOr<std::vector<KeyState>> Lookup(absl::Span<const std::string> keys,
                                               absl::string_view bundle) override {
    ASSIGN_OR_RETURN(const std::vector<Key> parsed, ParseKeys(keys));
    return LookupThrough(*daemon_, parsed, bundle, LookupFor::kUse);
  }

  absl::StatusOr<CompileOutcome> GetOrCompile(const CompileSpec& spec,
                                              const WaitOptions& options) override {
    ASSIGN_OR_RETURN(const IdentifiedSpec identified, IdentifySpec(spec));
    return CompileThrough(*daemon_, identified, options);
  }

  absl::Status Fetch(const ArtifactName& artifact, const std::string& path) override {
    return FetchVerified(*daemon_, artifact, path, NamedBy::kCaller);
  }

  absl::Status Save(const CompileOutcome& outcome, const std::string& path) override {
    if (!outcome.artifact.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("writing ", path, ": key ", outcome.key, " has no artifact"));
    }
    if (!outcome.inline_artifact.has_value()) {
      // The daemon gave the outcome, perhaps after hours of waiting: its restart is not the end.
      return FetchVerified(*daemon_, *outcome.artifact, path, NamedBy::kCompile, NeverStop,
                           Acquaintance::kDaemonWasThere);
    }
    ASSIGN_OR_RETURN(const Digest digest, Digest::FromHex(outcome.artifact->digest));
    return WriteVerified(path, *outcome.inline_artifact, digest);
  }

  absl::StatusOr<std::string> ReadLog(const std::string& key) override {
    ASSIGN_OR_RETURN(const std::vector<Key> keys, ParseKeys({key}));
    ASSIGN_OR_RETURN(const std::vector<KeyState> states,
                     LookupThrough(*daemon_, keys, "", LookupFor::kState));
    if (states.front().log_digest.empty()) {
      return absl::NotFoundError(
          absl::StrCat("reading the log of key ", key, ": the daemon keeps none"));
    }
    ASSIGN_OR_RETURN(const Digest digest, Digest::FromHex(states.front().log_digest));
    std::string log;
    RETURN_IF_ERROR(FetchDecompressed(*daemon_, v1::FetchRequest::KIND_LOG, digest, kLogLimit,
                                      [&log](absl::string_view text) {
                                        log.append(text.data(), text.size());
                                        return absl::OkStatus();
                                      }));
    return log;
  }

  absl::StatusOr<bool> Publish(const CompileSpec& spec, const std::string& artifact_path,
                               absl::Duration compile_time) override {
    ASSIGN_OR_RETURN(const IdentifiedSpec identified, IdentifySpec(spec));
    return PublishThrough(*daemon_, identified, artifact_path, compile_time);
  }

  absl::StatusOr<std::vector<BundleEntry>> GetBundle(const std::string& bundle) override {
    const std::string doing = absl::StrCat("listing bundle ", bundle);
    ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, daemon_->Connect());
    const auto context = daemon_->NewCall(absl::InfiniteDuration());
    StallWatchdog::Watch watch(daemon_->watchdog(), context, daemon_->options().call_timeout);
    v1::GetBundleRequest request;
    request.set_name(bundle);
    const auto stub = v1::GraphCache::NewStub(channel);
    const auto stream = stub->GetBundle(context.get(), request);
    std::vector<BundleEntry> entries;
    v1::BundleKey member;
    while (watch.During([&] { return stream->Read(&member); })) {
      absl::StatusOr<BundleEntry> entry = BundleEntryFrom(member);
      if (!entry.ok()) {
        context->TryCancel();
        stream->Finish();
        return daemon_->Error(entry.status(), doing);
      }
      entries.push_back(*std::move(entry));
    }
    RETURN_IF_ERROR(daemon_->Error(watch.During([&] { return stream->Finish(); }), doing, watch));
    return entries;
  }

  absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ListToolchains() override {
    ASSIGN_OR_RETURN(const std::vector<Toolchain> offered, ListToolchainsThrough(*daemon_));
    std::vector<std::pair<std::string, std::string>> toolchains;
    toolchains.reserve(offered.size());
    for (const Toolchain& toolchain : offered) {
      toolchains.emplace_back(toolchain.name, toolchain.version);
    }
    return toolchains;
  }

 private:
  static absl::StatusOr<BundleEntry> BundleEntryFrom(const v1::BundleKey& member) {
    ASSIGN_OR_RETURN(const Key key, Key::FromBytes(member.key()));
    BundleEntry entry;
    entry.key = key.Hex();
    if (member.has_entry()) {
      ASSIGN_OR_RETURN(entry.state, KeyStateFrom(member.entry(), key));
    }
    return entry;
  }

  const std::unique_ptr<Daemon> daemon_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(ClientOptions options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Daemon> daemon, Daemon::Create(std::move(options)));
  return std::make_unique<DaemonClient>(std::move(daemon));
}

}  // namespace neffcache
