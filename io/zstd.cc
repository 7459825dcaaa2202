#include "io/zstd.h"

#include <zstd.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

constexpr int kWindowLogLimit = 27;  // 128 MiB

}  // namespace

struct ZstdCompressor::State {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::vector<char> out = std::vector<char>(ZSTD_CStreamOutSize());

  ~State() { ZSTD_freeCCtx(context); }

  absl::Status Run(absl::string_view bytes, ZSTD_EndDirective end, ByteSink sink) {
    ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer buffer = {out.data(), out.size(), 0};
      const size_t left = ZSTD_compressStream2(context, &buffer, &in, end);
      if (ZSTD_isError(left)) {
        return absl::InternalError(absl::StrCat("compressing: ", ZSTD_getErrorName(left)));
      }
      if (buffer.pos > 0) RETURN_IF_ERROR(sink({out.data(), buffer.pos}));
      if (end == ZSTD_e_end ? left == 0 : in.pos == in.size) return absl::OkStatus();
    }
  }
};

ZstdCompressor::ZstdCompressor(int level) : state_(std::make_unique<State>()) {
  if (state_->context == nullptr) std::abort();  // Out of memory.
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_checksumFlag, 1);
}
ZstdCompressor::~ZstdCompressor() = default;
ZstdCompressor::ZstdCompressor(ZstdCompressor&&) noexcept = default;
ZstdCompressor& ZstdCompressor::operator=(ZstdCompressor&&) noexcept = default;

absl::Status ZstdCompressor::Write(absl::string_view bytes, ByteSink sink) {
  return state_->Run(bytes, ZSTD_e_continue, sink);
}

absl::Status ZstdCompressor::Finish(ByteSink sink) {
  return state_->Run({}, ZSTD_e_end, sink);
}

struct ZstdDecompressor::State {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  std::vector<char> out = std::vector<char>(ZSTD_DStreamOutSize());
  uint64_t left = 0;
  bool inside_frame = true;  // Nothing read yet counts as an unfinished frame.

  ~State() { ZSTD_freeDCtx(context); }
};

ZstdDecompressor::ZstdDecompressor(uint64_t limit) : state_(std::make_unique<State>()) {
  if (state_->context == nullptr) std::abort();  // Out of memory.
  ZSTD_DCtx_setParameter(state_->context, ZSTD_d_windowLogMax, kWindowLogLimit);
  state_->left = limit;
}
ZstdDecompressor::~ZstdDecompressor() = default;
ZstdDecompressor::ZstdDecompressor(ZstdDecompressor&&) noexcept = default;
ZstdDecompressor& ZstdDecompressor::operator=(ZstdDecompressor&&) noexcept = default;

absl::Status ZstdDecompressor::Write(absl::string_view compressed, ByteSink sink) {
  State& state = *state_;
  ZSTD_inBuffer in = {compressed.data(), compressed.size(), 0};
  bool more_output = false;
  while (in.pos < in.size || more_output) {
    ZSTD_outBuffer buffer = {state.out.data(), state.out.size(), 0};
    const size_t hint = ZSTD_decompressStream(state.context, &buffer, &in);
    if (ZSTD_isError(hint)) {
      return absl::DataLossError(absl::StrCat("decompressing: ", ZSTD_getErrorName(hint)));
    }
    state.inside_frame = hint != 0;
    if (buffer.pos > state.left) {
      return absl::ResourceExhaustedError("decompressing: more output than is allowed");
    }
    state.left -= buffer.pos;
    if (buffer.pos > 0) RETURN_IF_ERROR(sink({state.out.data(), buffer.pos}));
    more_output = state.inside_frame && buffer.pos == buffer.size;
  }
  return absl::OkStatus();
}

absl::Status ZstdDecompressor::Finish() {
  if (state_->inside_frame) return absl::DataLossError("decompressing: the input is cut short");
  return absl::OkStatus();
}

std::string ZstdCompress(absl::string_view bytes) {
  std::string out;
  ZstdCompressor compressor;
  const auto append = [&out](absl::string_view piece) {
    out.append(piece.data(), piece.size());
    return absl::OkStatus();
  };
  // Compression into memory fails only when memory does.
  if (!compressor.Write(bytes, append).ok() || !compressor.Finish(append).ok()) std::abort();
  return out;
}

absl::StatusOr<std::string> ZstdDecompress(absl::string_view compressed, uint64_t limit) {
  std::string out;
  ZstdDecompressor decompressor(limit);
  RETURN_IF_ERROR(decompressor.Write(compressed, [&out](absl::string_view piece) {
    out.append(piece.data(), piece.size());
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(decompressor.Finish());
  return out;
}

}  // namespace neffcache
