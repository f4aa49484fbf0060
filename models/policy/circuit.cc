#include "models/policy/circuit.h"

#include <algorithm>
#include <array>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kMaxError = 1000;  // bytes
constexpr std::size_t kLeastHexDigits = 8;
constexpr std::string_view kTraceback = "Traceback (most recent call last)";
constexpr std::string_view kBlank = " \t\r\n\f\v";
// In the locale of nobody.
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isWord(char c) {
  return isDigit(c) || isLetter(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

// The beginning of a text, cut between characters.
std::string_view beginning(std::string_view text, std::size_t bytes) {
  while (bytes < text.size() && bytes > 0 && (text[bytes] & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Python says at the end what went wrong, others at the beginning.
std::string_view tellingLine(std::string_view error) {
  const std::string_view text = trimmed(error);
  const std::string_view first = trimmed(text.substr(0, text.find('\n')));
  if (first.find(kTraceback) == std::string_view::npos) return first;
  return trimmed(text.substr(text.rfind('\n') + 1));
}

std::size_t wordLength(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), isWord);
  return static_cast<std::size_t>(end - text.begin());
}

// 8-4-4-4-12 hexadecimal digits; 0 when the text does not begin so.
std::size_t uuidLength(std::string_view text) {
  std::size_t at = 0;
  for (const std::size_t digits : {8, 4, 4, 4, 12}) {
    if (at > 0 && (at >= text.size() || text[at++] != '-')) return 0;
    if (at + digits > text.size()) return 0;
    const auto part = text.substr(at, digits);
    if (!std::all_of(part.begin(), part.end(), isHex)) return 0;
    at += digits;
  }
  return at < text.size() && isWord(text[at]) ? 0 : at;
}

// A word that is an address, a hash or the like.
bool isHexNumber(std::string_view word) {
  if (word.starts_with("0x") || word.starts_with("0X"))
    word.remove_prefix(2);
  else if (word.size() < kLeastHexDigits)
    return false;
  return !word.empty() && std::all_of(word.begin(), word.end(), isHex) &&
         std::any_of(word.begin(), word.end(), isDigit);
}

// Digits, also with points, commas and colons between them: 10.0.0.7:5432.
std::size_t numberLength(std::string_view text) {
  if (!isDigit(text.front())) return 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (isDigit(text[i])) {
      end = i + 1;
    } else if (i != end || std::string_view(".,:").find(text[i]) == std::string_view::npos) {
      break;
    }
  }
  return end;
}

// Up to the end of what is quoted from here on; 0 when it is an apostrophe, say.
std::size_t quotedLength(std::string_view line, std::size_t at) {
  if (std::string_view("'\"`").find(line[at]) == std::string_view::npos) return 0;
  if (at > 0 && isWord(line[at - 1])) return 0;
  for (auto end = line.find(line[at], at + 1); end != std::string_view::npos;
       end = line.find(line[at], end + 1)) {
    if (end + 1 == line.size() || !isWord(line[end + 1])) return end + 1 - at;
  }
  return 0;
}

}  // namespace

std::string errorClass(std::string_view error) {
  const std::string_view line = tellingLine(error);
  std::string text;
  for (std::size_t i = 0; i < line.size() && text.size() <= kMaxErrorClass;) {
    const std::string_view rest = line.substr(i);
    const bool begins_word = i == 0 || !isWord(line[i - 1]);
    if (const std::size_t quoted = quotedLength(line, i)) {
      text += {line[i], '*', line[i]};
      i += quoted;
    } else if (const std::size_t uuid = begins_word ? uuidLength(rest) : 0) {
      text += '#';
      i += uuid;
    } else if (const std::size_t word = begins_word ? wordLength(rest) : 0;
               word > 0 && isHexNumber(rest.substr(0, word))) {
      text += '#';
      i += word;
    } else if (const std::size_t number = numberLength(rest)) {
      text += '#';
      i += number;
    } else if (kBlank.find(line[i]) != std::string_view::npos) {
      if (!text.ends_with(' ')) text += ' ';
      ++i;
    } else {
      text += line[i++];
    }
  }
  text = trimmed(beginning(text, kMaxErrorClass));
  return text.empty() ? "unspecified" : text;
}

std::string_view name(CircuitState state) {
  static constexpr std::array<std::string_view, 3> kNames = {"closed", "open", "probing"};
  return kNames[static_cast<std::size_t>(state)];
}

CircuitState CircuitRecord::state() const {
  if (!opened_at) return CircuitState::kClosed;
  return probe.empty() ? CircuitState::kOpen : CircuitState::kProbing;
}

std::optional<std::int64_t> circuitAllowance(const CircuitRecord& record, Time now) {
  if (record.state() == CircuitState::kClosed) return std::nullopt;
  return record.state() == CircuitState::kOpen && now >= record.probe_at ? 1 : 0;
}

CircuitRecord aged(CircuitRecord record, const CircuitRules& rules, Time now) {
  if (record.opened_at) return record;
  std::erase_if(record.recent, [&](Time at) { return at < now - rules.window; });
  if (record.recent.empty()) return {};
  record.failures = static_cast<std::int64_t>(record.recent.size());
  return record;
}

CircuitVerdict judgeCircuit(CircuitRecord before, const CircuitRules& rules, const JobId& job,
                            std::string_view error_class, std::string_view error, Time now) {
  CircuitVerdict verdict;
  CircuitRecord& record = verdict.record = aged(std::move(before), rules, now);
  const bool was_open = record.opened_at.has_value();
  if (record.error_class != error_class) {
    verdict.closed = was_open;
    record = {};
    record.error_class = error_class;
    record.error = beginning(error, kMaxError);
  }
  record.failures += 1;
  if (record.opened_at) {
    verdict.excused = true;
    if (record.probe != job) return verdict;  // it was given out before
    record.probe = JobId();
    record.wait = std::min(record.wait * 2, std::max(rules.probe_cap, rules.probe_after));
    record.probe_at = now + record.wait;
    verdict.opened = true;
    return verdict;
  }
  record.recent.push_back(now);
  if (rules.failures == 0 || record.failures < rules.failures) return verdict;
  record.recent.clear();
  record.opened_at = now;
  record.wait = rules.probe_after;
  record.probe_at = now + record.wait;
  verdict.excused = verdict.opened = true;
  return verdict;
}

CircuitRecord withoutProbe(CircuitRecord record, const JobId& job) {
  if (record.probe == job) record.probe = JobId();
  return record;
}

}  // namespace muster
