#include "server/store/key_material_proto.h"

#include <string>

#include "io/status_macros.h"
#include "io/utf8.h"

namespace neffcache {

void ToProto(const KeyMaterial& material, v1::KeyMaterial& message) {
  message.mutable_fingerprint()->set_tag(material.fingerprint.tag);
  message.mutable_fingerprint()->set_digest(std::string(material.fingerprint.digest.bytes()));
  for (const std::string& option : material.options) message.add_options(option);
  message.mutable_toolchain()->set_name(material.toolchain.name);
  message.mutable_toolchain()->set_version(material.toolchain.version);
}

absl::StatusOr<KeyMaterial> FromProto(const v1::KeyMaterial& message) {
  KeyMaterial material;
  material.fingerprint.tag = message.fingerprint().tag();
  ASSIGN_OR_RETURN(material.fingerprint.digest, OptionalDigest(message.fingerprint().digest()));
  material.options.assign(message.options().begin(), message.options().end());
  material.toolchain.name = message.toolchain().name();
  material.toolchain.version = message.toolchain().version();
  return material;
}

absl::StatusOr<Digest> OptionalDigest(absl::string_view bytes) {
  if (bytes.empty()) return Digest();
  absl::StatusOr<Digest> digest = Digest::FromBytes(bytes);
  if (!digest.ok()) return absl::DataLossError(digest.status().message());
  return digest;
}

std::string OptionalBytes(const Digest& digest) {
  return digest.empty() ? std::string() : std::string(digest.bytes());
}

absl::Status CheckEncodable(const KeyMaterial& material) {
  bool valid = IsUtf8(material.fingerprint.tag) && IsUtf8(material.toolchain.name) &&
               IsUtf8(material.toolchain.version);
  for (const std::string& option : material.options) valid = valid && IsUtf8(option);
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError("an option or the toolchain's name is not UTF-8");
}

}  // namespace neffcache
