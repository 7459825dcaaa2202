#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "client/daemon.h"
#include "client/fetch_call.h"
#include "tests/client/client_fixture.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kPiece = 256 << 10;

class FetchTest : public ClientTest {
 protected:
  // Sends pieces of the artifact from the offset on, up to `end`. False when the client has gone.
  bool Send(const v1::FetchRequest& request, grpc::ServerWriter<v1::FetchResponse>* writer,
            size_t end) {
    for (size_t at = request.offset(); at < end; at += kPiece) {
      v1::FetchResponse response;
      response.set_data(artifact_.substr(at, std::min(kPiece, end - at)));
      if (!writer->Write(response)) return false;
    }
    return true;
  }
  void ServeWhole() {
    daemon_.fetch = [this](grpc::ServerContext*, const v1::FetchRequest& request,
                           grpc::ServerWriter<v1::FetchResponse>* writer) {
      ++calls_;
      Send(request, writer, artifact_.size());
      return grpc::Status::OK;
    };
  }

  const std::string artifact_ = PatternBytes(3'000'001);
  const std::string output_ = scratch_.Path("out.neff");
  std::atomic<int> calls_ = 0;
};

TEST_F(FetchTest, TheFileHasTheBytesAndNothingElseIsLeft) {
  ServeWhole();
  const absl::Status status = client_->Fetch(NameOf(artifact_), output_);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(output_), artifact_);
  EXPECT_THAT(Files(), ElementsAre("graph.bytes", "out.neff"));
}

TEST_F(FetchTest, AnEmptyArtifactIsAnEmptyFile) {
  ServeWhole();
  daemon_.fetch = [](grpc::ServerContext*, const v1::FetchRequest&,
                     grpc::ServerWriter<v1::FetchResponse>*) { return grpc::Status::OK; };
  const absl::Status status = client_->Fetch(NameOf(""), output_);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(output_), "");
}

TEST_F(FetchTest, PiecesOfAFewBytesArriveWhole) {
  const std::string small = "seven b";
  daemon_.fetch = [&](grpc::ServerContext*, const v1::FetchRequest&,
                      grpc::ServerWriter<v1::FetchResponse>* writer) {
    for (const char c : small) {
      v1::FetchResponse response;
      response.set_data(std::string(1, c));
      writer->Write(response);
    }
    return grpc::Status::OK;
  };
  const absl::Status status = client_->Fetch(NameOf(small), output_);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(output_), small);
}

TEST_F(FetchTest, ABrokenStreamGoesOnAtItsOffset) {
  std::vector<uint64_t> offsets;
  daemon_.fetch = [&](grpc::ServerContext*, const v1::FetchRequest& request,
                      grpc::ServerWriter<v1::FetchResponse>* writer) {
    offsets.push_back(request.offset());
    const size_t end = request.offset() + 4 * kPiece;
    if (end >= artifact_.size()) {
      Send(request, writer, artifact_.size());
      return grpc::Status::OK;
    }
    Send(request, writer, end);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going down");
  };
  const absl::Status status = client_->Fetch(NameOf(artifact_), output_);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(output_), artifact_);
  EXPECT_THAT(offsets, ElementsAre(0, 4 * kPiece, 8 * kPiece));
}

TEST_F(FetchTest, ADaemonThatComesBackServesTheRest) {
  daemon_.fetch = [&](grpc::ServerContext* context, const v1::FetchRequest& request,
                      grpc::ServerWriter<v1::FetchResponse>* writer) {
    if (++calls_ > 1) {
      Send(request, writer, artifact_.size());
      return grpc::Status::OK;
    }
    Send(request, writer, 2 * kPiece);
    return HangUntilCancelled(context);
  };
  options_.reconnect_timeout = absl::Seconds(30);
  const std::unique_ptr<Daemon> daemon = *Daemon::Create(options_);
  absl::Notification arrived;
  std::jthread restart([&] {
    arrived.WaitForNotification();
    daemon_.Stop();
    daemon_.Restart();
  });
  const absl::Status status =
      FetchVerified(*daemon, NameOf(artifact_), output_, NamedBy::kCaller, [&arrived] {
        if (!arrived.HasBeenNotified()) arrived.Notify();
        return false;
      });
  restart.join();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(output_), artifact_);
}

TEST_F(FetchTest, AStalledStreamIsBrokenOffAndResumed) {
  options_.stall_timeout = absl::Milliseconds(200);
  Connect();
  daemon_.fetch = [&](grpc::ServerContext* context, const v1::FetchRequest& request,
                      grpc::ServerWriter<v1::FetchResponse>* writer) {
    if (++calls_ > 1) {
      Send(request, writer, artifact_.size());
      return grpc::Status::OK;
    }
    Send(request, writer, kPiece);
    return HangUntilCancelled(context);
  };
  const absl::Status status = client_->Fetch(NameOf(artifact_), output_);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(output_), artifact_);
  EXPECT_EQ(calls_, 2);
}

TEST_F(FetchTest, AStreamThatOnlyStallsIsGivenUp) {
  options_.stall_timeout = absl::Milliseconds(50);
  Connect();
  daemon_.fetch = [&](grpc::ServerContext* context, const v1::FetchRequest& request,
                      grpc::ServerWriter<v1::FetchResponse>* writer) {
    ++calls_;
    if (request.offset() == 0) Send(request, writer, kPiece);
    return HangUntilCancelled(context);
  };
  const absl::Status status = client_->Fetch(NameOf(artifact_), output_);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nothing arrived for 50ms"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(daemon_.address()));
  EXPECT_EQ(calls_, 4);  // The first, and three that brought nothing.
  EXPECT_THAT(Files(), ElementsAre("graph.bytes"));
}

TEST_F(FetchTest, ADaemonGoneForGoodIsUnavailableAndLeavesNoFile) {
  options_.connect_timeout = absl::Milliseconds(200);
  Connect();
  daemon_.fetch = [&](grpc::ServerContext* context, const v1::FetchRequest& request,
                      grpc::ServerWriter<v1::FetchResponse>* writer) {
    Send(request, writer, kPiece);
    ++calls_;
    return HangUntilCancelled(context);
  };
  std::jthread stop([&] {
    while (calls_ == 0) std::this_thread::yield();
    daemon_.Stop();
  });
  const absl::Status status = client_->Fetch(NameOf(artifact_), output_);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(Files(), ElementsAre("graph.bytes"));
}

TEST_F(FetchTest, WrongBytesAreDataLossAndNoFile) {
  ServeWhole();
  std::string other = artifact_;
  other[1'000'000] ^= 1;
  const absl::Status status = client_->Fetch(NameOf(other), output_);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("digest"));
  EXPECT_THAT(Files(), ElementsAre("graph.bytes"));
}

TEST_F(FetchTest, AfterDamagedBytesTheDaemonIsAskedOnceMoreToLookAtItsFile) {
  daemon_.fetch = [this](grpc::ServerContext*, const v1::FetchRequest& request,
                         grpc::ServerWriter<v1::FetchResponse>* writer) {
    EXPECT_EQ(request.recheck(), ++calls_ == 2);
    EXPECT_EQ(request.offset(), 0u);
    if (request.recheck()) {
      Send(request, writer, artifact_.size());
    } else {
      v1::FetchResponse damaged;
      for (size_t at = 0; at < artifact_.size(); at += kPiece) {
        damaged.set_data(std::string(std::min(kPiece, artifact_.size() - at), 'x'));
        writer->Write(damaged);
      }
    }
    return grpc::Status::OK;
  };
  EXPECT_EQ(client_->Fetch(NameOf(artifact_), output_), absl::OkStatus());
  EXPECT_EQ(calls_, 2);
}

TEST_F(FetchTest, TooFewAndTooManyBytesAreDataLoss) {
  ServeWhole();
  ArtifactName name = NameOf(artifact_);
  name.size += 1;
  EXPECT_EQ(client_->Fetch(name, output_).code(), absl::StatusCode::kDataLoss);
  name.size -= 2;
  EXPECT_EQ(client_->Fetch(name, output_).code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Files(), ElementsAre("graph.bytes"));
}

TEST_F(FetchTest, TheDaemonsOwnErrorIsNotRetried) {
  daemon_.fetch = [&](grpc::ServerContext*, const v1::FetchRequest& request,
                      grpc::ServerWriter<v1::FetchResponse>* writer) {
    ++calls_;
    Send(request, writer, kPiece);
    return grpc::Status(grpc::StatusCode::DATA_LOSS, "found damaged");
  };
  const absl::Status status = client_->Fetch(NameOf(artifact_), output_);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("found damaged"));
  EXPECT_EQ(calls_, 1);
}

TEST_F(FetchTest, WhatWasThereStaysWhenTheFetchFails) {
  scratch_.Write("out.neff", "before");
  daemon_.fetch = [](grpc::ServerContext*, const v1::FetchRequest&,
                     grpc::ServerWriter<v1::FetchResponse>*) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such content");
  };
  EXPECT_EQ(client_->Fetch(NameOf(artifact_), output_).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ContentOf(output_), "before");
}

TEST_F(FetchTest, OutputsThatCannotBeAreRefusedBeforeTheDownload) {
  ServeWhole();
  std::filesystem::create_directory(scratch_.Path("directory"));
  const struct {
    std::string path;
    std::string why;
  } cases[] = {{scratch_.Path("directory"), "it is a directory"},
               {"/dev/full", "it is not a regular file"},
               {scratch_.Path("absent/out.neff"), "No such file or directory"},
               {"", "its path is empty"}};
  for (const auto& wrong : cases) {
    const absl::Status status = client_->Fetch(NameOf(artifact_), wrong.path);
    EXPECT_FALSE(status.ok()) << wrong.path;
    EXPECT_THAT(std::string(status.message()), HasSubstr(wrong.why));
    EXPECT_THAT(std::string(status.message()), HasSubstr("writing " + wrong.path));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("XXXX")));
  }
  EXPECT_EQ(calls_, 0);
}

TEST_F(FetchTest, ASymbolicLinkIsWrittenThrough) {
  ServeWhole();
  scratch_.Write("real.neff", "before");
  std::filesystem::create_symlink(scratch_.Path("real.neff"), output_);
  ASSERT_TRUE(client_->Fetch(NameOf(artifact_), output_).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(output_));
  EXPECT_EQ(ContentOf(scratch_.Path("real.neff")), artifact_);
}

TEST_F(FetchTest, AFullDiskIsOneSentenceAndNoFile) {
  const std::string mount_point = scratch_.Path("small");
  std::filesystem::create_directory(mount_point);
  if (mount("none", mount_point.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "mounting a small file system takes root";
  }
  ServeWhole();
  const absl::Status status = client_->Fetch(NameOf(artifact_), mount_point + "/out.neff");
  const bool is_empty = std::filesystem::is_empty(mount_point);
  umount(mount_point.c_str());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "writing " + mount_point + "/out.neff: No space left on device");
  EXPECT_TRUE(is_empty);
}

TEST_F(FetchTest, AnInterruptedFetchLeavesNoFile) {
  ServeWhole();
  const std::unique_ptr<Daemon> daemon = *Daemon::Create(options_);
  int pieces = 0;
  const absl::Status status = FetchVerified(*daemon, NameOf(artifact_), output_, NamedBy::kCaller,
                                            [&pieces] { return ++pieces == 2; });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(Files(), ElementsAre("graph.bytes"));
}

TEST_F(FetchTest, ManyFetchesAtATimeShareAClient) {
  ServeWhole();
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::string path = scratch_.Path("out" + std::to_string(i));
      if (client_->Fetch(NameOf(artifact_), path).ok() && ContentOf(path) == artifact_) ++good;
    });
  }
  threads.clear();
  EXPECT_EQ(good, 8);
}

TEST_F(FetchTest, SaveWritesInlineBytesOnlyWhenTheyAreTheArtifacts) {
  CompileOutcome outcome;
  outcome.key = "key";
  outcome.artifact = NameOf("inline");
  outcome.inline_artifact = "inline";
  ASSERT_TRUE(client_->Save(outcome, output_).ok());
  EXPECT_EQ(ContentOf(output_), "inline");
  outcome.inline_artifact = "changed";
  EXPECT_EQ(client_->Save(outcome, output_).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ContentOf(output_), "inline");
}

TEST_F(FetchTest, SaveOfAFailedCompileIsRefused) {
  CompileOutcome outcome;
  outcome.failure.emplace();
  EXPECT_EQ(client_->Save(outcome, output_).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace neffcache
