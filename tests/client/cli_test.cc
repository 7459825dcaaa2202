// The command line as its users see it: text, documents and exit statuses, with a fake daemon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "client/cli/interrupt.h"
#include "client/cli/program.h"
#include "io/digest.h"
#include "io/zstd.h"
#include "tests/client/client_fixture.h"

namespace neffcache {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kToolchain[] = "--toolchain=test-compiler=1.0";

struct Result {
  int status = 0;
  std::string out;
  std::string error;
  cli::Json json;  // Of `out`, when it is a document.
};

Result RunProgramWith(std::vector<std::string> arguments) {
  std::ostringstream out, error;
  cli::Console console(out, error, /*error_is_terminal=*/false);
  Result result;
  result.status = cli::RunProgram(std::move(arguments), console);
  result.out = out.str();
  result.error = error.str();
  result.json = cli::Json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  return result;
}

// An HloModuleProto of one computation of one instruction, on the wire.
std::string SmallGraph(const std::string& opcode) {
  const auto blob = [](char tag, const std::string& bytes) {
    return std::string(1, tag) + static_cast<char>(bytes.size()) + bytes;
  };
  const std::string instruction =
      blob('\x0a', "root.1") + blob('\x12', opcode) + std::string("\x98\x02\x01", 3);  // id 1
  const std::string computation =
      blob('\x0a', "main") + blob('\x12', instruction) + "\x28\x01\x30\x01";  // id 1, root 1
  return blob('\x0a', "module") + blob('\x1a', computation) + "\x30\x01";     // entry 1
}

class CliTest : public ClientTest {
 protected:
  CliTest() {
    unsetenv("NEFFCACHE_DAEMON");
    unsetenv("NEFFCACHE_CONFIG");
    spec_.flags.clear();
    graph_ = spec_.graph_path;
  }

  // With --daemon and --json in front.
  Result RunJson(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--json", "--daemon", daemon_.address()});
    Result result = RunProgramWith(std::move(arguments));
    EXPECT_TRUE(result.json.is_object()) << result.out;
    return result;
  }
  Result RunText(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--daemon", daemon_.address()});
    return RunProgramWith(std::move(arguments));
  }

  std::string KeyHex() const { return Identified().key.Hex(); }

  // Knows the graph's key alone: ready with these bytes, sent inline when asked for.
  void ServeLookup(const std::string& artifact) {
    daemon_.lookup = [this, artifact](const v1::LookupRequest& request,
                                      v1::LookupResponse* response) {
      for (const std::string& key : request.keys()) {
        v1::LookupResult* result = response->add_results();
        result->set_state(v1::LookupResult::STATE_ABSENT);
        if (key != KeyBytes()) continue;
        result->set_state(v1::LookupResult::STATE_READY);
        *result->mutable_entry() = ReadyEntry(key, artifact);
        if (request.inline_limit() >= artifact.size()) result->set_inline_artifact(artifact);
      }
      return grpc::Status::OK;
    };
  }
  // Keeps this graph for every key; `before` runs when it is about to be sent.
  void ServeGraph(
      const std::string& graph, std::function<void()> before = [] {}) {
    daemon_.show_key = [graph](const v1::ShowKeyRequest& request, v1::ShowKeyResponse* response) {
      *response->mutable_entry() = ReadyEntry(request.key(), "artifact");
      response->mutable_entry()->set_graph_digest(std::string(Sha256Of(graph).bytes()));
      return grpc::Status::OK;
    };
    daemon_.fetch = [graph, before](grpc::ServerContext*, const v1::FetchRequest& request,
                                    grpc::ServerWriter<v1::FetchResponse>* writer) {
      EXPECT_EQ(request.kind(), v1::FetchRequest::KIND_GRAPH);
      before();
      v1::FetchResponse response;
      response.set_data(ZstdCompress(graph));
      writer->Write(response);
      return grpc::Status::OK;
    };
  }
  void ServeNothing() {
    daemon_.lookup = [](const v1::LookupRequest& request, v1::LookupResponse* response) {
      for (int i = 0; i < request.keys_size(); ++i) {
        response->add_results()->set_state(v1::LookupResult::STATE_ABSENT);
      }
      return grpc::Status::OK;
    };
  }
  // Compiles every key at once; the key is taken from the start's fingerprint.
  void ServeCompiles() {
    daemon_.compile = [this](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
      v1::CompileRequest request;
      stream->Read(&request);
      ++compiles_;
      v1::CompileEvent event;
      event.mutable_queued()->set_position(0);
      stream->Write(event);
      *event.mutable_ready()->mutable_entry() = ReadyEntry(KeyOf(request.start()), "artifact");
      event.mutable_ready()->set_compiled(true);
      stream->Write(event);
      return grpc::Status::OK;
    };
  }
  static std::string KeyOf(const v1::CompileStart& start) {
    KeyMaterial material;
    material.fingerprint.tag = start.material().fingerprint().tag();
    material.fingerprint.digest = *Digest::FromBytes(start.material().fingerprint().digest());
    material.options.assign(start.material().options().begin(), start.material().options().end());
    material.toolchain = {start.material().toolchain().name(),
                          start.material().toolchain().version()};
    return std::string(ComputeKey(material).bytes());
  }

  std::string graph_;
  std::atomic<int> compiles_ = 0;
};

TEST_F(CliTest, UsageErrorsAreOneSentenceAndStatus2) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"no-such-command"},
      {"fingerprint"},
      {"fingerprint", "--no-such-flag", graph_},
      {"fetch", graph_},
      {"ls"},
      {"show", "123"},
      {"stats", "--", "-O1"},
      {"--daemon", "nonsense", "stats"},
      {"key", graph_, "--toolchain", "=1"},
      {"--config", scratch_.Path("absent.conf"), "fingerprint", graph_},
      {"--config", scratch_.Write("bad.conf", "no_such_option = 1\n"), "fingerprint", graph_}};
  for (const auto& arguments : wrong) {
    const Result result = RunProgramWith(arguments);
    EXPECT_EQ(result.status, 2) << ::testing::PrintToString(arguments);
    EXPECT_THAT(result.error, StartsWith("neffcache: "));
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(CliTest, UsageErrorsAreADocumentToo) {
  const Result result = RunProgramWith({"fingerprint", "--json"});
  EXPECT_EQ(result.status, 2);
  ASSERT_TRUE(result.json.is_object()) << result.out;
  EXPECT_EQ(result.json["errors"].size(), 1u);
}

TEST_F(CliTest, HelpAndVersionAreNoErrors) {
  EXPECT_THAT(RunProgramWith({"--help"}).out, HasSubstr("precompile"));
  EXPECT_THAT(RunProgramWith({"--version"}).out, StartsWith("neffcache "));
  EXPECT_EQ(RunProgramWith({"precompile", "--help"}).status, 0);
}

TEST_F(CliTest, FingerprintDoesTheOthersWhenOneIsBad) {
  const std::string absent = scratch_.Path("absent.pb");
  const Result result = RunProgramWith({"fingerprint", absent, graph_, scratch_.Path()});
  EXPECT_EQ(result.status, 1);
  const std::string expected = ToString(Identified().graph.fingerprint) + "  " + graph_ + "\n";
  EXPECT_EQ(result.out, expected);
  EXPECT_THAT(result.error, HasSubstr(absent + ": No such file or directory\n"));
  EXPECT_THAT(result.error, HasSubstr("it is a directory\n"));
}

TEST_F(CliTest, KeyIsThatOfTheLibraryAndHasItsPartsInJson) {
  EXPECT_EQ(RunProgramWith({"key", graph_, kToolchain}).out, KeyHex() + "\n");
  const Result result = RunProgramWith({"key", graph_, kToolchain, "--json", "--", "--optlevel=2"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.json["key"], KeyHex());
  EXPECT_EQ(result.json["options"], cli::Json({"--optlevel=2"}));
  EXPECT_EQ(result.json["toolchain"]["version"], "1.0");
  EXPECT_EQ(result.json["fingerprint"], ToString(Identified().graph.fingerprint));
}

TEST_F(CliTest, KeyShowsEveryPartOfAGraphInJson) {
  const std::string graph = scratch_.Write("module.pb", SmallGraph("add"));
  const cli::Json key = RunProgramWith({"key", graph, kToolchain, "--json"}).json;
  EXPECT_EQ(key["tag"], "neffcache-hlo-1");
  EXPECT_EQ(key["form"], "HloModuleProto");
  EXPECT_EQ(key["cacheable"], true);
  EXPECT_EQ(key["dropped"].get<std::string>().size(), 64u);
  for (const char* part : {"signature", "attributes", "skeleton"}) {
    EXPECT_EQ(key["parts"][part].get<std::string>().size(), 64u) << part;
  }
  ASSERT_EQ(key["parts"]["computations"].size(), 1u);
  EXPECT_EQ(key["parts"]["computations"][0]["instructions"], 1);
  // Bytes that are no module have no parts.
  const cli::Json opaque = RunProgramWith({"key", graph_, kToolchain, "--json"}).json;
  EXPECT_EQ(opaque["tag"], "neffcache-raw-1");
  EXPECT_FALSE(opaque.contains("parts"));
}

TEST_F(CliTest, ExplainIsLikeDiff) {
  const std::string before = scratch_.Write("before.pb", SmallGraph("add"));
  const std::string after = scratch_.Write("after.pb", SmallGraph("multiply"));
  const Result same = RunProgramWith({"explain", before, before});
  EXPECT_EQ(same.status, 0);
  EXPECT_EQ(same.out, "the same\n");
  const Result differ = RunProgramWith({"explain", before, after});
  EXPECT_EQ(differ.status, 1);
  EXPECT_EQ(differ.out, "root.1: opcode add → multiply\n");
  const Result json = RunProgramWith({"explain", before, after, "--json", "--limit", "1"});
  EXPECT_EQ(json.status, 1);
  EXPECT_EQ(json.json["same"], false);
  EXPECT_EQ(json.json["summary"], "root.1: opcode add → multiply");
  EXPECT_EQ(
      json.json["differences"],
      cli::Json::parse(R"([{"kind": "instruction", "text": "root.1: opcode add → multiply"}])"));
  EXPECT_EQ(json.json["omitted"], 0);
  EXPECT_EQ(RunProgramWith({"explain", before, scratch_.Path("absent")}).status, 1);
}

TEST_F(CliTest, ExplainOfNothingIsAUsageError) {
  EXPECT_THAT(RunProgramWith({"explain"}).error, HasSubstr("two graphs, one graph or key"));
  EXPECT_EQ(RunProgramWith({"explain"}).status, 2);
  EXPECT_EQ(RunProgramWith({"explain", graph_, graph_, "--", "-O1"}).status, 2);
  EXPECT_EQ(RunProgramWith({"explain", graph_, "--bundle", "b"}).status, 2);
}

TEST_F(CliTest, ExplainOfACachedGraphSaysSo) {
  daemon_.explain = [](const v1::ExplainRequest& request, v1::ExplainResponse* response) {
    EXPECT_EQ(request.material().toolchain().name(), "test-compiler");
    response->set_key(std::string(32, 'k'));
    *response->mutable_entry() = ReadyEntry(response->key(), "artifact");
    return grpc::Status::OK;
  };
  const Result result = RunText({"explain", graph_, kToolchain});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, StartsWith("it is cached: key 6b6b"));
}

TEST_F(CliTest, ExplainComparesAGraphWithTheNearestThatIsKept) {
  const std::string before = SmallGraph("add");
  const std::string after = scratch_.Write("after.pb", SmallGraph("multiply"));
  ServeGraph(before);
  bool kept = true;
  daemon_.explain = [&](const v1::ExplainRequest& request, v1::ExplainResponse* response) {
    EXPECT_EQ(request.parts().computations_size(), 1);
    EXPECT_EQ(request.instructions(), 1u);
    response->set_key(std::string(32, 'k'));
    v1::NearEntry& near = *response->add_near();
    *near.mutable_entry() = ReadyEntry(std::string(32, 'n'), "artifact");
    *near.mutable_entry()->mutable_material() = request.material();
    near.mutable_entry()->mutable_material()->mutable_toolchain()->set_version("0.9");
    near.mutable_entry()->mutable_material()->mutable_fingerprint()->set_digest(
        std::string(32, 'f'));
    near.mutable_entry()->set_graph_name("jit_step");
    if (kept) {
      near.mutable_entry()->set_graph_digest(std::string(Sha256Of(before).bytes()));
    }
    return grpc::Status::OK;
  };
  const Result text = RunText({"explain", after, kToolchain});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("nearest 6e6e6e6e6e6e (jit_step):\n"), HasSubstr("0.9 → 1.0"),
                    HasSubstr("root.1: opcode add → multiply\n")));
  const Result json = RunJson({"explain", after, kToolchain, "--limit", "1"});
  EXPECT_EQ(json.json["cached"], false);
  EXPECT_EQ(json.json["differences"].size(), 1u);
  EXPECT_EQ(json.json["omitted"], 1);
  EXPECT_EQ(json.json["nearest"]["graph_name"], "jit_step");
  kept = false;
  EXPECT_THAT(RunText({"explain", after, kToolchain}).out,
              HasSubstr("another graph, which cannot be compared: its graph is not kept"));
}

TEST_F(CliTest, ExplainWithoutAnythingNearSaysSo) {
  daemon_.explain = [](const v1::ExplainRequest&, v1::ExplainResponse* response) {
    response->set_key(std::string(32, 'k'));
    return grpc::Status::OK;
  };
  const Result result = RunText({"explain", graph_, kToolchain});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("no entry is like it"));
  daemon_.Stop();
  EXPECT_EQ(RunText({"explain", graph_, kToolchain}).status, 3);
}

TEST_F(CliTest, ExplainAndShowTellWhyAKeyWasCompiled) {
  daemon_.show_key = [](const v1::ShowKeyRequest& request, v1::ShowKeyResponse* response) {
    *response->mutable_entry() = ReadyEntry(request.key(), "artifact");
    response->mutable_miss()->set_explanation("nearest 0123456789ab: flag --optlevel 1 → 2");
    response->mutable_miss()->set_nearest_key(std::string(32, 'n'));
    return grpc::Status::OK;
  };
  const Result explained = RunText({"explain", KeyHex()});
  EXPECT_EQ(explained.status, 0);
  EXPECT_EQ(explained.out, "why it was compiled: nearest 0123456789ab: flag --optlevel 1 → 2\n");
  EXPECT_THAT(RunText({"show", KeyHex()}).out, HasSubstr("flag --optlevel 1 → 2"));
  EXPECT_EQ(RunJson({"show", KeyHex()}).json["miss"]["explanation"],
            "nearest 0123456789ab: flag --optlevel 1 → 2");
}

TEST_F(CliTest, KeyWithoutAVersionSaysHowToGiveOne) {
  const Result result = RunProgramWith({"key", graph_, "--toolchain", "test-compiler"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("pass --toolchain test-compiler=VERSION"));
}

TEST_F(CliTest, AToolchainIsTakenFromTheWorkersWhenOnlyOneFits) {
  ServeLookup("artifact");
  std::vector<std::pair<std::string, std::string>> offered = {{"test-compiler", "1.0"},
                                                              {"other", "7"}};
  daemon_.list_toolchains = [&](v1::ListToolchainsResponse* response) {
    for (const auto& [name, version] : offered) {
      v1::Toolchain* toolchain = response->add_toolchains();
      toolchain->set_name(name);
      toolchain->set_version(version);
    }
    return grpc::Status::OK;
  };
  EXPECT_EQ(RunText({"lookup", graph_, "--toolchain", "test-compiler"}).status, 0);
  offered.emplace_back("test-compiler", "2.0");
  const Result several = RunText({"lookup", graph_, "--toolchain", "test-compiler"});
  EXPECT_EQ(several.status, 1);
  EXPECT_THAT(several.error, HasSubstr("test-compiler=1.0, test-compiler=2.0"));
  const Result none = RunText({"lookup", graph_, "--toolchain", "unheard-of"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.error, HasSubstr("other=7"));
}

TEST_F(CliTest, LookupGivesEachItsStateAnd1WhenOneIsNotReady) {
  ServeLookup("artifact");
  EXPECT_EQ(RunText({"lookup", graph_, kToolchain}).status, 0);
  const std::string other = scratch_.Write("other.pb", "another graph");
  const Result result = RunJson({"lookup", graph_, other, kToolchain});
  EXPECT_EQ(result.status, 1);
  ASSERT_EQ(result.json["results"].size(), 2u);
  EXPECT_EQ(result.json["results"][0]["state"], "ready");
  EXPECT_EQ(result.json["results"][0]["artifact"]["size"], 8);
  EXPECT_EQ(result.json["results"][1]["state"], "absent");
  EXPECT_FALSE(result.json.contains("errors"));
}

TEST_F(CliTest, AKeyMayBeGivenByAPrefixAndAFileOfThatNameIsAGraph) {
  ServeLookup("artifact");
  daemon_.resolve_key = [&](const v1::ResolveKeyRequest& request,
                            v1::ResolveKeyResponse* response) {
    EXPECT_EQ(request.prefix(), KeyHex().substr(0, 10));
    response->set_key(KeyBytes());
    return grpc::Status::OK;
  };
  EXPECT_EQ(RunText({"lookup", KeyHex().substr(0, 10)}).status, 0);
  EXPECT_EQ(RunText({"lookup", KeyHex()}).status, 0);
  const std::string file = scratch_.Write(KeyHex(), "a graph that is named like a key");
  const Result result = RunJson({"lookup", file, kToolchain});
  EXPECT_EQ(result.json["results"][0]["graph"], file);
}

TEST_F(CliTest, NoDaemonIsStatus3AndOneSentence) {
  daemon_.Stop();
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"stats"},
           {"lookup", graph_, graph_, kToolchain},
           {"lookup", KeyHex().substr(0, 8), KeyHex().substr(0, 9)},
           {"precompile", graph_, scratch_.Write("second.bytes", "x"), kToolchain},
           {"fetch", KeyHex(), "-o", scratch_.Path("out")},
           {"ls", "entries"},
           {"log", KeyHex()}}) {
    const Result result = RunText(arguments);
    EXPECT_EQ(result.status, 3) << ::testing::PrintToString(arguments);
    EXPECT_THAT(result.error, HasSubstr(daemon_.address()));
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
  }
  const Result json = RunJson({"stats"});
  EXPECT_EQ(json.status, 3);
  EXPECT_EQ(json.json["errors"][0]["code"], "UNAVAILABLE");
}

TEST_F(CliTest, ARefusalOfTheDaemonIsStatus4ButAnUnreadableFileIsNot) {
  daemon_.get_stats = [](v1::Stats*) {
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "a reader may not");
  };
  EXPECT_EQ(RunText({"stats"}).status, 4);
  EXPECT_EQ(static_cast<int>(cli::ExitStatusOf(absl::PermissionDeniedError("opening g.pb"))), 1);
}

TEST_F(CliTest, FetchWritesTheVerifiedArtifact) {
  ServeLookup("artifact");
  const std::string output = scratch_.Path("out.neff");
  const Result result = RunText({"fetch", graph_, "-o", output, kToolchain});
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_EQ(ContentOf(output), "artifact");
  EXPECT_THAT(result.out, HasSubstr(Sha256Of("artifact").Hex()));
}

TEST_F(CliTest, FetchOfWhatIsAbsentIsStatus1AndNoFile) {
  ServeNothing();
  const std::string output = scratch_.Path("out.neff");
  const Result result = RunText({"fetch", graph_, "-o", output, kToolchain});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("nothing is cached under key " + KeyHex()));
  EXPECT_FALSE(std::filesystem::exists(output));
  EXPECT_EQ(RunText({"fetch", graph_, "-o", scratch_.Path(), kToolchain}).status, 1);
}

TEST_F(CliTest, FetchGraphWritesTheKeptGraph) {
  ServeGraph("the kept graph");
  const std::string output = scratch_.Path("kept.pb");
  EXPECT_EQ(RunText({"fetch", KeyHex(), "--graph", "-o", output}).status, 0);
  EXPECT_EQ(ContentOf(output), "the kept graph");
}

TEST_F(CliTest, FetchGraphWritesTheFileBehindALink) {
  ServeGraph("the kept graph");
  const std::string target = scratch_.Write("target.pb", "old");
  const std::string link = scratch_.Path("link.pb");
  std::filesystem::create_symlink(target, link);
  EXPECT_EQ(RunText({"fetch", KeyHex(), "--graph", "-o", link}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ContentOf(target), "the kept graph");
}

TEST_F(CliTest, AnInterruptedFetchOfAGraphLeavesNothing) {
  ServeGraph("the kept graph", [] { raise(SIGINT); });
  const std::vector<std::string> before = Files();
  const Result result =
      RunText({"fetch", KeyHex(), "--graph", "-o", scratch_.Path("interrupted.pb")});
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.error, HasSubstr("interrupted"));
  EXPECT_EQ(Files(), before);
}

TEST_F(CliTest, PrecompileReportsHitsCompilesAndWhatCouldNotBeRead) {
  ServeLookup("artifact");
  ServeCompiles();
  const std::string copy = scratch_.Write("copy.pb", "the graph");
  const std::string other = scratch_.Write("other.pb", "another graph");
  const std::string absent = scratch_.Path("absent.pb");
  const Result result = RunJson({"precompile", graph_, other, copy, absent, kToolchain});
  EXPECT_EQ(result.status, 1);
  const cli::Json& graphs = result.json["graphs"];
  ASSERT_EQ(graphs.size(), 4u);
  EXPECT_EQ(graphs[0]["state"], "hit");
  EXPECT_EQ(graphs[0]["compile_time"], 12.3);
  EXPECT_EQ(graphs[1]["state"], "compiled");
  EXPECT_EQ(graphs[2]["state"], "hit");
  EXPECT_EQ(graphs[2]["key"], graphs[0]["key"]);
  EXPECT_EQ(graphs[3]["state"], "error");
  EXPECT_EQ(result.json["summary"]["graphs"], 4);
  EXPECT_EQ(result.json["summary"]["keys"], 2);
  EXPECT_EQ(result.json["summary"]["hits"], 1);
  EXPECT_EQ(result.json["summary"]["compiled"], 1);
  EXPECT_EQ(result.json["errors"].size(), 1u);
  EXPECT_EQ(compiles_, 1);
}

TEST_F(CliTest, PrecompileAsksOnceForGraphsWithOneKey) {
  ServeNothing();
  ServeCompiles();
  std::vector<std::string> arguments = {"precompile", kToolchain};
  for (int i = 0; i < 5; ++i) {
    arguments.push_back(scratch_.Write(absl::StrCat("copy", i, ".pb"), "the graph"));
  }
  const Result result = RunText(arguments);
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_EQ(compiles_, 1);
  EXPECT_THAT(result.out, HasSubstr("5 graphs, 1 key: 0 hits, 1 compiled, 0 failed"));
}

TEST_F(CliTest, PrecompileOfManyGraphsGetsEveryOne) {
  ServeNothing();
  ServeCompiles();
  std::vector<std::string> arguments = {"precompile", kToolchain, "--jobs", "300"};
  for (int i = 0; i < 400; ++i) {
    arguments.push_back(scratch_.Write(absl::StrCat("many/", i, ".pb"), absl::StrCat("graph ", i)));
  }
  const Result result = RunJson(arguments);
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_EQ(compiles_, 400);
  EXPECT_EQ(result.json["summary"]["compiled"], 400);
}

TEST_F(CliTest, PrecompileListsFailuresLastWithWhereTheLogIs) {
  ServeNothing();
  daemon_.compile = [](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
    v1::CompileRequest request;
    stream->Read(&request);
    v1::CompileEvent event;
    event.mutable_failed()->set_failure_class(v1::FAILURE_CLASS_DETERMINISTIC);
    event.mutable_failed()->set_message("NCC_EVRF001: unsupported");
    event.mutable_failed()->set_remembered_until_ms(1);
    stream->Write(event);
    return grpc::Status::OK;
  };
  const Result result = RunText({"precompile", graph_, kToolchain});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("failed"));
  EXPECT_EQ(result.error, absl::StrCat("neffcache: compiling ", graph_,
                                       " failed (deterministic): NCC_EVRF001: unsupported; see "
                                       "neffcache log ",
                                       KeyHex().substr(0, 16), "\n"));
}

TEST_F(CliTest, PrecompileRefusesAToolchainThatTheWorkersDoNotHave) {
  ServeNothing();
  daemon_.list_toolchains = [](v1::ListToolchainsResponse* response) {
    response->add_toolchains()->set_name("other");
    return grpc::Status::OK;
  };
  std::atomic<bool> refuse = false;
  daemon_.compile = [&](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
    v1::CompileRequest request;
    stream->Read(&request);
    refuse = request.start().refuse_unknown_toolchain();
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no worker has test-compiler 1.0");
  };
  const Result result = RunText({"precompile", graph_, kToolchain});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(refuse);
  EXPECT_THAT(result.error, HasSubstr("no worker has test-compiler 1.0"));
  RunText({"precompile", graph_, kToolchain, "--wait-for-worker"});
  EXPECT_FALSE(refuse);
}

TEST_F(CliTest, PrecompileDoesNotWaitWithoutEndForAFirstWorker) {
  ServeNothing();
  daemon_.list_toolchains = [](v1::ListToolchainsResponse*) { return grpc::Status::OK; };
  daemon_.compile = [](grpc::ServerContext* context, FakeDaemon::CompileStream* stream) {
    v1::CompileRequest request;
    stream->Read(&request);
    if (request.start().refuse_unknown_toolchain()) {
      return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no worker has test-compiler 1.0");
    }
    v1::CompileEvent event;
    event.mutable_queued()->set_position(0);
    stream->Write(event);
    return HangUntilCancelled(context);
  };
  const Result result = RunText({"precompile", graph_, kToolchain, "--worker-timeout=0.1"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("no worker has test-compiler 1.0"));
}

TEST_F(CliTest, PrecompileWithoutWaitingEndsOnceQueued) {
  ServeNothing();
  daemon_.compile = [](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
    v1::CompileRequest request;
    stream->Read(&request);
    EXPECT_EQ(request.start().wait(), v1::WAIT_UNTIL_QUEUED);
    v1::CompileEvent event;
    event.mutable_queued()->set_position(3);
    stream->Write(event);
    return grpc::Status::OK;
  };
  const Result result = RunJson({"precompile", graph_, kToolchain, "--no-wait"});
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_EQ(result.json["graphs"][0]["state"], "queued");
}

TEST_F(CliTest, LogIsTheKeptLogDecompressed) {
  const std::string log = "line 1\nline 2\n";
  daemon_.show_key = [&](const v1::ShowKeyRequest& request, v1::ShowKeyResponse* response) {
    *response->mutable_entry() = ReadyEntry(request.key(), "artifact");
    response->mutable_entry()->set_log_digest(std::string(Sha256Of(log).bytes()));
    return grpc::Status::OK;
  };
  daemon_.fetch = [&](grpc::ServerContext*, const v1::FetchRequest& request,
                      grpc::ServerWriter<v1::FetchResponse>* writer) {
    EXPECT_EQ(request.kind(), v1::FetchRequest::KIND_LOG);
    v1::FetchResponse response;
    response.set_data(ZstdCompress(log));
    writer->Write(response);
    return grpc::Status::OK;
  };
  EXPECT_EQ(RunText({"log", KeyHex()}).out, log);
  EXPECT_EQ(RunJson({"log", KeyHex()}).json["log"], log);
}

TEST_F(CliTest, LogOfAFailureWithoutAKeptLogIsItsTail) {
  daemon_.show_key = [](const v1::ShowKeyRequest& request, v1::ShowKeyResponse* response) {
    response->mutable_entry()->set_key(request.key());
    response->mutable_entry()->mutable_failed()->set_log_tail("the end\n");
    return grpc::Status::OK;
  };
  EXPECT_EQ(RunText({"log", KeyHex()}).out, "the end\n");
}

TEST_F(CliTest, ShowHasAllOfAnEntry) {
  daemon_.show_key = [](const v1::ShowKeyRequest& request, v1::ShowKeyResponse* response) {
    *response->mutable_entry() = ReadyEntry(request.key(), "artifact");
    response->mutable_entry()->set_graph_name("jit_step");
    response->add_bundles("nightly");
    return grpc::Status::OK;
  };
  EXPECT_THAT(RunText({"show", KeyHex()}).out, AllOf(HasSubstr(KeyHex()), HasSubstr("jit_step"),
                                                     HasSubstr("nightly"), HasSubstr("12.3s")));
  const Result result = RunJson({"show", KeyHex()});
  EXPECT_EQ(result.json["entry"]["state"], "ready");
  EXPECT_EQ(result.json["bundles"], cli::Json({"nightly"}));
}

TEST_F(CliTest, ListsHaveEveryEntry) {
  daemon_.list_entries = [](grpc::ServerWriter<v1::Entry>* writer) {
    writer->Write(ReadyEntry(std::string(32, 'a'), "artifact"));
    writer->Write(ReadyEntry(std::string(32, 'b'), "artifact"));
    return grpc::Status::OK;
  };
  const Result text = RunText({"ls", "entries"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("6161616161616161"), HasSubstr("6262626262626262")));
  EXPECT_EQ(RunJson({"ls", "entries"}).json["entries"].size(), 2u);
}

TEST_F(CliTest, RetryOfAnUnknownFailureIsStatus1) {
  daemon_.retry = [](const v1::RetryRequest&) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no failure is remembered");
  };
  EXPECT_EQ(RunText({"retry", KeyHex()}).status, 1);
  daemon_.retry = [](const v1::RetryRequest&) { return grpc::Status::OK; };
  EXPECT_EQ(RunText({"retry", KeyHex()}).status, 0);
}

TEST_F(CliTest, TheConfigFileAndTheEnvironmentNameTheDaemon) {
  daemon_.get_stats = [](v1::Stats* stats) {
    stats->set_version("1.2.3");
    return grpc::Status::OK;
  };
  const std::string config =
      scratch_.Write("neffcache.conf", "daemon = \"" + daemon_.address() + "\"\n");
  EXPECT_THAT(RunProgramWith({"--config", config, "stats"}).out, HasSubstr("1.2.3"));
  const std::string shared =
      scratch_.Write("shared.conf", "[neffcached]\ndata-dir = \"/d\"\n[neffcache]\ndaemon = \"" +
                                        daemon_.address() + "\"\n[neffcache-worker]\nslots = 8\n");
  EXPECT_THAT(RunProgramWith({"--config", shared, "stats"}).out, HasSubstr("1.2.3"));
  setenv("NEFFCACHE_CONFIG", config.c_str(), 1);
  EXPECT_THAT(RunProgramWith({"stats"}).out, HasSubstr("1.2.3"));
  unsetenv("NEFFCACHE_CONFIG");
  setenv("NEFFCACHE_DAEMON", daemon_.address().c_str(), 1);
  EXPECT_THAT(RunProgramWith({"stats"}).out, HasSubstr("1.2.3"));
  unsetenv("NEFFCACHE_DAEMON");
}

TEST_F(CliTest, AnUnknownCommandNamesTheNearest) {
  EXPECT_EQ(RunProgramWith({"precompiel", graph_}).error,
            "neffcache: there is no command \"precompiel\"; did you mean \"precompile\"? "
            "(see neffcache --help)\n");
  EXPECT_EQ(RunProgramWith({"ls", "entrys"}).error,
            "neffcache: there is no command \"ls entrys\"; did you mean \"entries\"? "
            "(see neffcache --help)\n");
  EXPECT_EQ(RunProgramWith({"frobnicate"}).error,
            "neffcache: there is no command \"frobnicate\" (see neffcache --help)\n");
}

TEST_F(CliTest, ABundleWithoutANameIsAUsageError) {
  for (const char* command : {"precompile", "lookup"}) {
    const Result result = RunText({command, graph_, kToolchain, "--bundle", ""});
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.error, HasSubstr("the name of the bundle is empty"));
  }
}

TEST_F(CliTest, LookupIsNoUseOfTheArtifact) {
  bool state_only = false;
  uint32_t inline_limit = 1;
  daemon_.lookup = [&](const v1::LookupRequest& request, v1::LookupResponse* response) {
    state_only = request.state_only();
    inline_limit = request.inline_limit();
    response->add_results()->set_state(v1::LookupResult::STATE_ABSENT);
    return grpc::Status::OK;
  };
  RunText({"lookup", graph_, kToolchain});
  EXPECT_TRUE(state_only);
  EXPECT_EQ(inline_limit, 0u);
}

TEST_F(CliTest, AnEmptyLogIsSaidAndNoError) {
  daemon_.show_key = [](const v1::ShowKeyRequest& request, v1::ShowKeyResponse* response) {
    *response->mutable_entry() = ReadyEntry(request.key(), "artifact");
    return grpc::Status::OK;
  };
  const Result result = RunText({"log", KeyHex()});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.error, HasSubstr("its compiler printed nothing"));
}

TEST_F(CliTest, WorkersOfADaemonThatHasJustStartedAreWaitedFor) {
  ServeLookup("artifact");
  int asked = 0;
  daemon_.list_toolchains = [&](v1::ListToolchainsResponse* response) {
    if (++asked < 3) return grpc::Status::OK;
    v1::Toolchain* toolchain = response->add_toolchains();
    toolchain->set_name("test-compiler");
    toolchain->set_version("1.0");
    return grpc::Status::OK;
  };
  int64_t uptime = 1000;
  daemon_.get_stats = [&](v1::Stats* stats) {
    stats->set_uptime_ms(uptime);
    return grpc::Status::OK;
  };
  EXPECT_EQ(RunText({"lookup", graph_, "--toolchain", "test-compiler"}).status, 0);
  EXPECT_EQ(asked, 3);
  asked = 0;
  uptime = 60'000;
  const Result late = RunText({"lookup", graph_, "--toolchain", "test-compiler"});
  EXPECT_EQ(late.status, 1);
  EXPECT_EQ(asked, 1) << "that daemon has no workers";
}

TEST_F(CliTest, AModuleThatIsCutShortIsNotSent) {
  ServeNothing();
  ServeCompiles();
  // An HloModuleProto with a computation whose instruction is an "add"; then a field that promises
  // more bytes than there are.
  const std::string instruction = std::string("\x12\x03") + "add";
  const std::string computation =
      "\x12" + std::string(1, static_cast<char>(instruction.size())) + instruction;
  const std::string module =
      "\x1a" + std::string(1, static_cast<char>(computation.size())) + computation;
  const std::string cut = scratch_.Write("cut.pb", module + "\x1a\x7f" + "rest");
  const Result result = RunJson({"precompile", cut, graph_, kToolchain});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(compiles_, 1) << "the other graph alone";
  EXPECT_THAT(result.error, HasSubstr(cut + " is not a whole HLO module"));
  EXPECT_EQ(result.json["graphs"][0]["state"], "error");
  EXPECT_EQ(result.json["summary"]["errors"], 1);
  EXPECT_EQ(result.json["summary"]["failed"], 0);
}

TEST_F(CliTest, AFileThatIsNoProtobufThoughItSaysSoIsSentAndSaid) {
  ServeNothing();
  ServeCompiles();
  const Result result =
      RunText({"precompile", scratch_.Write("odd.pb", "not a protobuf"), kToolchain});
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_EQ(compiles_, 1);
  EXPECT_THAT(result.error, HasSubstr("neither HLO nor MLIR"));
}

TEST_F(CliTest, AnInterruptedPrecompileSaysWhatGoesOnAndEndsWith130) {
  ServeNothing();
  std::atomic<int> queued = 0;
  daemon_.compile = [&](grpc::ServerContext* context, FakeDaemon::CompileStream* stream) {
    v1::CompileRequest request;
    stream->Read(&request);
    v1::CompileEvent event;
    event.mutable_queued();
    stream->Write(event);
    if (++queued == 2) kill(getpid(), SIGINT);
    return HangUntilCancelled(context);
  };
  const Result result =
      RunText({"precompile", graph_, scratch_.Write("other.bytes", "x"), kToolchain});
  EXPECT_EQ(result.status, 130);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.error, AllOf(HasSubstr("interrupted; "), HasSubstr(daemon_.address()),
                                  HasSubstr("the same command again")));
  EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
}

TEST(InterruptGuardTest, TheFirstSignalIsOnlyNoted) {
  const cli::InterruptGuard guard;
  EXPECT_FALSE(cli::InterruptGuard::requested());
  raise(SIGINT);
  EXPECT_TRUE(cli::InterruptGuard::requested());
}

TEST(ConsoleTest, AnOutputThatCannotBeWrittenIsStatus1) {
  std::ostringstream error;
  std::ostream broken(nullptr);
  cli::Console console(broken, error, false);
  console.Print("a result");
  EXPECT_EQ(console.Finish(), cli::ExitStatus::kFailed);
  EXPECT_THAT(error.str(), HasSubstr("cannot be written"));
}

TEST(ConsoleTest, ProgressOnATerminalIsOneLineThatMessagesReplace) {
  std::ostringstream out, error;
  cli::Console console(out, error, true);
  console.ShowProgress("1/2");
  console.ShowProgress("evil \x1b[2J line");
  console.Note("a message");
  EXPECT_EQ(error.str(), "\r\x1b[K1/2\r\x1b[Kevil  [2J line\r\x1b[Kneffcache: a message\n");
}

TEST(ConsoleTest, DocumentsTakeBytesThatAreNotUtf8) {
  std::ostringstream out, error;
  cli::Console console(out, error, false);
  console.UseJson();
  console.document()["line"] = "\xff\xfe";
  console.Finish();
  EXPECT_TRUE(cli::Json::accept(out.str()));
}

}  // namespace
}  // namespace neffcache
