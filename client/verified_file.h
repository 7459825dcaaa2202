#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/background_hash.h"
#include "io/digest.h"
#include "io/file.h"

namespace neffcache {

// A file that appears at its path only when its bytes have the digest that they should have. Until
// then it is a temporary file beside it, deleted with this object. Used by one thread.
//
// Errors name the path as the user gave it: "writing out.neff: No space left on device".
class VerifiedFile {
 public:
  // `size` is the artifact's. INVALID_ARGUMENT: `path` is a directory, or something else that is
  // not a regular file.
  static absl::StatusOr<std::unique_ptr<VerifiedFile>> Create(const std::string& path,
                                                              const Digest& digest, uint64_t size);

  // A well-formed piece (transport/framing.h). DATA_LOSS: there are more bytes than there should
  // be.
  absl::Status Append(const grpc::ByteBuffer& piece);

  // Checks size and digest and renames the file into place. DATA_LOSS: they differ.
  absl::Status Commit();

 private:
  VerifiedFile(AtomicFile file, std::string path, const Digest& digest, uint64_t size);

  AtomicFile file_;
  const std::string path_;
  const Digest digest_;
  const uint64_t size_;
  uint64_t written_ = 0;
  BackgroundHash hash_;
};

// Whether something could be written there: INVALID_ARGUMENT for a directory or a device.
absl::Status CheckOutput(const std::string& path);

// The file that becomes `path`: through a symbolic link the one behind it. Errors as of
// CheckOutput(), and what AtomicFile::Create() says.
absl::StatusOr<AtomicFile> CreateOutput(const std::string& path);

// A VerifiedFile from bytes in memory.
absl::Status WriteVerified(const std::string& path, absl::string_view bytes, const Digest& digest);

}  // namespace neffcache
