// `inlay completion bash|zsh|fish` and `inlay man`: made from the parser, so that they say what it takes.
#include "command.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <ostream>
#ifdef INLAY_CLI_KERNELS
#include <inlay/kernels/artifact.h>
#endif

namespace inlay::cli {
namespace {

/// One option of a command, as the shells and the manual need it.
struct Opt {
  std::vector<std::string> names; ///< with their dashes; empty: positional
  std::string help, type, value;
  std::vector<std::string> choices;
  bool takes_value = false;
};

struct Command {
  std::string name, help;
  std::vector<Opt> options;
  std::vector<std::string> first; ///< what may stand directly after it, where that is known
  bool takes_kernel = false;
};

/// `{a,b}` in what CLI11 says of the values.
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> out;
  const auto open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return out;
  std::string list = type.substr(open + 1, close - open - 1);
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find(',', begin), list.size());
    out.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Command command_of(const CLI::App& app) {
  Command c{app.get_name(), app.get_description(), {}, {}, false};
  for (const CLI::App* a : app.get_subcommands(nullptr)) c.first.push_back(a->get_name());
  for (const CLI::Option* o : app.get_options()) {
    Opt one;
    for (const auto& s : o->get_snames()) one.names.push_back("-" + s);
    for (const auto& l : o->get_lnames()) one.names.push_back("--" + l);
    one.help = o->get_description();
    one.takes_value = o->get_items_expected_max() > 0;
    one.type = o->get_type_name();
    one.choices = choices_of(one.type);
    if (one.names.empty()) {
      one.value = o->get_name(true);
      c.takes_kernel =
          c.takes_kernel || one.value == "KERNEL" || one.type.find("KERNEL") != std::string::npos;
      if (c.first.empty()) c.first = one.choices;
    }
    c.options.push_back(std::move(one));
  }
  return c;
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> out;
#ifdef INLAY_CLI_KERNELS
  for (const auto& k : kernels::registry()) out.push_back(k->name());
#endif
  return out;
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> out;
  for (const CLI::App* a : app.get_subcommands(nullptr)) {
    out.push_back(command_of(*a));
    if (out.back().takes_kernel) out.back().first = kernel_names();
  }
  return out;
}

/// A kernel's options, or the values of one that its range lists: a word a line, which the shells ask for.
std::string words_of(const std::string& kernel, const std::string& option) {
  std::string out;
#ifdef INLAY_CLI_KERNELS
  for (const auto& k : kernels::registry()) {
    if (k->name() != kernel) continue;
    for (const kernels::FlagHelp& f : k->flags()) {
      if (option.empty()) out += "--" + f.name + "\n";
      if (option != f.name) continue;
      for (std::size_t at = 0; at < f.range.size();) {
        const std::size_t end = std::min(f.range.find_first_of(",;", at), f.range.size());
        const std::string word = f.range.substr(at, end - at);
        if (!word.empty() && word.find_first_of(" :") == std::string::npos) out += word + "\n";
        at = f.range.find_first_not_of(' ', end + 1);
        if (end >= f.range.size() || f.range[end] == ';') break;
      }
    }
  }
#endif
  return out;
}

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

std::string bash(const std::vector<Command>& commands) {
  std::string names, options, values, first, with_kernel;
  for (const Command& c : commands) {
    names += (names.empty() ? "" : " ") + c.name;
    std::string all;
    for (const Opt& o : c.options) {
      for (const auto& n : o.names) all += (all.empty() ? "" : " ") + n;
      if (o.names.empty() || o.choices.empty()) continue;
      std::vector<std::string> keys;
      for (const auto& n : o.names) keys.push_back(c.name + " " + n);
      values += fmt::format("    \"{}\") COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n",
                            joined(keys, "\"|\""), joined(o.choices));
    }
    options += fmt::format("    {}) words=\"{}\" ;;\n", c.name, all);
    if (!c.first.empty()) first += fmt::format("      {}) words=\"{}\" ;;\n", c.name, joined(c.first));
    if (c.takes_kernel) with_kernel += (with_kernel.empty() ? "" : "|") + c.name;
  }
  return R"sh(# bash completion of inlay: eval "$(inlay completion bash)"
_inlay() {
  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}" words= of_kernel=
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W ")sh" +
         names + R"sh(" -- "$word"))
    return
  fi
  case "$command $before" in
)sh" + values +
         R"sh(  esac
  case "$command" in
)sh" + options +
         R"sh(  esac
  if [ "$COMP_CWORD" = 2 ] && [[ $word != -* ]]; then
    words=
    case "$command" in
)sh" + first +
         R"sh(    esac
  fi
  case "$command" in
    )sh" +
         (with_kernel.empty() ? "-" : with_kernel) +
         R"sh()
      if [ "$COMP_CWORD" -gt 2 ]; then
        if [[ $before == --* ]]; then
          of_kernel=$("${COMP_WORDS[0]}" completion words "${COMP_WORDS[2]}" "${before#--}" 2>/dev/null)
          if [ -n "$of_kernel" ]; then
            COMPREPLY=($(compgen -W "$of_kernel" -- "$word"))
            return
          fi
        fi
        words="$words $("${COMP_WORDS[0]}" completion words "${COMP_WORDS[2]}" 2>/dev/null)"
      fi ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$word" | grep -v '^-') $(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _inlay inlay
)sh";
}

/// For a single-quoted word of zsh or fish, in which `[`, `]` and `:` say something to zsh.
std::string quoted(std::string text, bool zsh) {
  std::string out;
  for (const char ch : text) {
    if (ch == '\'')
      out += zsh ? "'\\''" : "\\'";
    else if (zsh && (ch == '[' || ch == ']' || ch == ':'))
      out += std::string("\\") + ch;
    else
      out += ch;
  }
  return out;
}

std::string zsh(const std::vector<Command>& commands) {
  std::string list, cases;
  for (const Command& c : commands) {
    list += fmt::format("    '{}:{}'\n", c.name, quoted(c.help, true));
    cases += "    " + c.name + ")\n      _arguments -s \\\n";
    for (const Opt& o : c.options)
      for (const auto& n : o.names)
        cases += fmt::format("        '{}[{}]{}' \\\n", n, quoted(o.help, true),
                             !o.takes_value      ? ""
                             : o.choices.empty() ? ":value:_files"
                                                 : ":value:(" + joined(o.choices) + ")");
    if (!c.first.empty())
      cases += fmt::format("        '1:{}:({})' \\\n", c.takes_kernel ? "kernel" : "what", joined(c.first));
    if (c.takes_kernel)
      cases += "        '*::option:_inlay_of_kernel'\n      ;;\n";
    else
      cases += "        '*:file:_files'\n      ;;\n";
  }
  return "#compdef inlay\n# zsh completion of inlay: inlay completion zsh >~/.zfunc/_inlay\n"
         "_inlay_of_kernel() {\n"
         "  local -a found\n"
         "  [[ ${words[CURRENT-1]} == --* ]] && found=(${(f)\"$(inlay completion words $kernel "
         "${words[CURRENT-1]#--} 2>/dev/null)\"})\n"
         "  (( $#found )) || found=(${(f)\"$(inlay completion words $kernel 2>/dev/null)\"})\n"
         "  compadd -a found\n  _files\n}\n"
         "_inlay() {\n  local -a commands\n  commands=(\n" +
         list +
         "  )\n  if (( CURRENT == 2 )); then\n    _describe 'command' commands\n    return\n  fi\n"
         "  local command=$words[2] kernel=$words[3]\n  shift words\n  (( CURRENT-- ))\n  case $command "
         "in\n" +
         cases + "  esac\n}\n[ \"$funcstack[1]\" = _inlay ] && _inlay \"$@\" || compdef _inlay inlay\n";
}

std::string fish(const std::vector<Command>& commands) {
  std::string out =
      "# fish completion of inlay: inlay completion fish >~/.config/fish/completions/inlay.fish\n";
  for (const Command& c : commands) {
    out += fmt::format("complete -c inlay -n __fish_use_subcommand -f -a {} -d '{}'\n", c.name,
                       quoted(c.help, false));
    const std::string when = "complete -c inlay -n '__fish_seen_subcommand_from " + c.name + "'";
    for (const Opt& o : c.options) {
      if (o.names.empty()) continue;
      out += when;
      for (const auto& n : o.names) out += n.starts_with("--") ? " -l " + n.substr(2) : " -s " + n.substr(1);
      if (o.takes_value) out += o.choices.empty() ? " -r" : " -x -a '" + joined(o.choices) + "'";
      out += fmt::format(" -d '{}'\n", quoted(o.help, false));
    }
    if (!c.first.empty())
      out += fmt::format("complete -c inlay -n '__fish_seen_subcommand_from {}; and test (count (commandline "
                         "-opc)) -eq 2' -a '{}'\n",
                         c.name, joined(c.first));
    // The third word is the kernel; the one before the cursor may be its option, and then its values are what comes next.
    if (c.takes_kernel)
      out += when +
             " -a '(set -l w (commandline -opc); set -l v (inlay completion words $w[3] (string replace "
             "-r \"^--\" \"\" -- $w[-1]) 2>/dev/null); test (count $v) -gt 0; or set v (inlay completion "
             "words $w[3] 2>/dev/null); printf \"%s\\n\" $v)'\n";
  }
  return out;
}

/// Text of a manual page: a dash is a minus, and a line does not begin with a dot.
std::string roff(const std::string& text) {
  std::string out;
  for (const char ch : text) {
    if (ch == '-' || ch == '\\')
      out += std::string("\\") + (ch == '\\' ? "e" : "-");
    else if ((ch == '.' || ch == '\'') && (out.empty() || out.back() == '\n'))
      out += std::string("\\&") + ch;
    else
      out += ch;
  }
  return out;
}

std::string man_page(const Command& c) {
  std::string out = fmt::format(".TH INLAY\\-{} 1 \"\" \"inlay {}\" \"inlay\"\n.SH NAME\ninlay\\-{} \\- "
                                "{}\n.SH SYNOPSIS\n.B inlay {}\n",
                                c.name, INLAY_VERSION, roff(c.name), roff(c.help), roff(c.name));
  for (const Opt& o : c.options)
    if (o.names.empty()) out += ".I " + roff(o.value) + "\n";
  out += "[options]\n.SH OPTIONS\n";
  for (const Opt& o : c.options) {
    std::vector<std::string> bold;
    for (const auto& n : o.names) bold.push_back("\\fB" + roff(n) + "\\fR");
    out += ".TP\n" + (o.names.empty() ? "\\fI" + roff(o.value) + "\\fR" : joined(bold, ", ")) +
           (o.takes_value && !o.names.empty() && !o.type.empty() ? " " + roff(o.type) : "") + "\n" +
           roff(o.help) + "\n";
  }
  return out + ".SH EXIT STATUS\n0 yes or done, 1 a negative answer, 2 bad input, 3 undecided within the "
               "budget, 70 internal error\n"
               ".SH SEE ALSO\n.BR inlay (1)\n";
}

std::string man_index(const std::vector<Command>& commands) {
  std::string out = fmt::format(".TH INLAY 1 \"\" \"inlay {}\" \"inlay\"\n.SH NAME\ninlay \\- layouts, "
                                "proofs and kernels for AMD Instinct\n"
                                ".SH SYNOPSIS\n.B inlay\n.I COMMAND\n[options]\n.SH COMMANDS\n",
                                INLAY_VERSION);
  for (const Command& c : commands) out += ".TP\n\\fB" + roff(c.name) + "\\fR\n" + roff(c.help) + "\n";
  out += ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < commands.size(); ++i)
    out += ".BR inlay\\-" + roff(commands[i].name) + " (1)" + (i + 1 < commands.size() ? " ,\n" : "\n");
  return out;
}

int man(Session& session, const CLI::App& app, const std::string& name, const std::string& folder) {
  const auto commands = commands_of(app);
  if (!folder.empty()) {
    std::filesystem::create_directories(folder);
    write_text(session, folder + "/inlay.1", man_index(commands));
    for (const Command& c : commands) write_text(session, folder + "/inlay-" + c.name + ".1", man_page(c));
    return Exit::yes;
  }
  if (name.empty()) {
    session.out << man_index(commands);
    return Exit::yes;
  }
  for (const Command& c : commands)
    if (c.name == name) {
      session.out << man_page(c);
      return Exit::yes;
    }
  std::vector<std::string> names;
  for (const Command& c : commands) names.push_back(c.name);
  throw std::invalid_argument("man: there is no command '" + name + "'\n  hint   " + joined(names, ", "));
}

} // namespace

void add_completion(CLI::App& app, Session& session) {
  auto* c = app.add_subcommand("completion", "Completion of this command line for a shell");
  auto shell = std::make_shared<std::string>();
  auto of = std::make_shared<std::vector<std::string>>();
  c->add_option("SHELL", *shell, "bash, zsh or fish; words: what the shells ask for, a line each")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "words"}));
  c->add_option("OF", *of,
                "With words: a kernel, of which they are the options; and one of these, of which they are "
                "the values")
      ->expected(0, 2);
  c->callback([=, &app, &session] {
    const auto commands = commands_of(app);
    if (*shell == "words" && !of->empty())
      session.out << words_of(of->front(), of->size() > 1 ? of->back() : "");
    else if (*shell != "words")
      session.out << (*shell == "bash" ? bash(commands) : *shell == "zsh" ? zsh(commands) : fish(commands));
    session.exit = Exit::yes;
  });
}

void add_man(CLI::App& app, Session& session) {
  auto* c = app.add_subcommand("man", "Manual pages: inlay man exec | man -l -");
  auto name = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  c->add_option("COMMAND", *name, "Of this command; of all when left out");
  c->add_option("-o,--output", *folder, "Writes all pages into this folder");
  c->callback([=, &app, &session] { session.exit = man(session, app, *name, *folder); });
}

} // namespace inlay::cli
