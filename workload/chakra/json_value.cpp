#include "workload/chakra/json_value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace orrery {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::json;

[[noreturn]] void fail_type(const JsonPlace& place, const std::string& path, const json& value,
                            std::string_view expected) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  place.fail(fmt::format("{} is {}, expected {}", path, printable(text, 60), expected));
}

template <class T>
std::optional<T> parsed_number(std::string_view text) {
  T result = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return result;
}

// An integral value of any JSON spelling that T holds; nothing otherwise.
template <class T>
std::optional<T> integer_in(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    const bool fits = number >= static_cast<double>(std::numeric_limits<T>::min()) &&
                      number < std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (fits && number == std::floor(number)) return static_cast<T>(number);
  } else if (value.is_string()) {
    return parsed_number<T>(value.get_ref<const std::string&>());
  }
  return std::nullopt;
}

template <class T>
T integer(const JsonPlace& place, const std::string& path, const json& value) {
  if (const auto number = integer_in<T>(value)) return *number;
  fail_type(place, path, value,
            fmt::format("an integer from {} to {}", std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

double real(const JsonPlace& place, const std::string& path, const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (const auto number = parsed_number<double>(text); number && std::isfinite(*number)) return *number;
  }
  fail_type(place, path, value, "a number");
}

float single(const JsonPlace& place, const std::string& path, const json& value) {
  const double number = real(place, path, value);
  // Half an ulp above the largest float still rounds to it.
  if (std::isfinite(number) && !std::isfinite(static_cast<float>(std::clamp(number, -0x1.ffffffp127, 0x1.ffffffp127))))
    fail_type(place, path, value, "a number that a 32-bit float can hold");
  return static_cast<float>(number);
}

bool boolean(const JsonPlace& place, const std::string& path, const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  const auto number = value.is_string() ? std::nullopt : integer_in<std::int64_t>(value);
  if (number && (*number == 0 || *number == 1)) return *number == 1;
  fail_type(place, path, value, "true or false");
}

const std::string& text_of(const JsonPlace& place, const std::string& path, const json& value) {
  if (!value.is_string()) fail_type(place, path, value, "a string");
  return value.get_ref<const std::string&>();
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

std::string base64(const JsonPlace& place, const std::string& path, const json& value) {
  std::string_view text = text_of(place, path, value);
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  unsigned bits = 0;
  int held = 0;
  for (const char c : text) {
    const int digit = base64_digit(c);
    if (digit < 0) fail_type(place, path, value, "base64");
    bits = (bits << 6 | static_cast<unsigned>(digit)) & 0xFFFFu;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xFFu);
  }
  if (held == 6) fail_type(place, path, value, "base64");
  return bytes;
}

int enum_number(const JsonPlace& place, const std::string& path, const json& value, const FieldDescriptor& field) {
  if (!value.is_string()) return integer<std::int32_t>(place, path, value);
  const auto* named = field.enum_type()->FindValueByName(value.get_ref<const std::string&>());
  if (named != nullptr) return named->number();
  if (const auto number = integer_in<std::int32_t>(value)) return *number;
  fail_type(place, path, value, "a value of " + field.enum_type()->name());
}

// Sets a singular field, or appends one element to a repeated one.
void set_one(const JsonPlace& place, const std::string& path, const json& value, Message& message,
             const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  const auto put = [&](auto set, auto add, auto converted) {
    if (field.is_repeated())
      (reflection.*add)(&message, &field, std::move(converted));
    else
      (reflection.*set)(&message, &field, std::move(converted));
  };
  using R = Reflection;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(&R::SetInt32, &R::AddInt32, integer<std::int32_t>(place, path, value));
    case FieldDescriptor::CPPTYPE_INT64:
      return put(&R::SetInt64, &R::AddInt64, integer<std::int64_t>(place, path, value));
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(&R::SetUInt32, &R::AddUInt32, integer<std::uint32_t>(place, path, value));
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(&R::SetUInt64, &R::AddUInt64, integer<std::uint64_t>(place, path, value));
    case FieldDescriptor::CPPTYPE_DOUBLE: return put(&R::SetDouble, &R::AddDouble, real(place, path, value));
    case FieldDescriptor::CPPTYPE_FLOAT: return put(&R::SetFloat, &R::AddFloat, single(place, path, value));
    case FieldDescriptor::CPPTYPE_BOOL: return put(&R::SetBool, &R::AddBool, boolean(place, path, value));
    case FieldDescriptor::CPPTYPE_ENUM:
      return put(&R::SetEnumValue, &R::AddEnumValue, enum_number(place, path, value, field));
    case FieldDescriptor::CPPTYPE_STRING:
      return put(
          &R::SetString, &R::AddString,
          field.type() == FieldDescriptor::TYPE_BYTES ? base64(place, path, value) : text_of(place, path, value));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return message_from_json(place, path, value,
                               field.is_repeated() ? *reflection.AddMessage(&message, &field)
                                                   : *reflection.MutableMessage(&message, &field));
  }
}

}  // namespace

void set_from_json(const JsonPlace& place, const std::string& path, const json& value, Message& message,
                   const FieldDescriptor& field) {
  if (value.is_null()) return;
  if (!field.is_repeated()) return set_one(place, path, value, message, field);
  if (!value.is_array()) fail_type(place, path, value, "an array");
  for (std::size_t i = 0; i < value.size(); ++i)
    set_one(place, fmt::format("{}[{}]", path, i), value[i], message, field);
}

void message_from_json(const JsonPlace& place, const std::string& path, const json& object, Message& message) {
  if (!object.is_object()) fail_type(place, path, object, "an object");
  const auto* descriptor = message.GetDescriptor();
  for (const auto& [key, value] : object.items()) {
    const auto* field = descriptor->FindFieldByName(key);
    if (field == nullptr) field = descriptor->FindFieldByCamelcaseName(key);
    if (field == nullptr || value.is_null()) continue;
    const auto* oneof = field->containing_oneof();
    if (oneof != nullptr && message.GetReflection()->HasOneof(message, oneof))
      place.fail(fmt::format("{} has two values, expected one", path));
    set_from_json(place, path + "." + key, value, message, *field);
  }
}

}  // namespace orrery
