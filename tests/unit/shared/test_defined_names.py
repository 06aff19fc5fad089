"""Names that a text defines, in several languages; prose defines none."""

from __future__ import annotations

import pytest

from helix_shared.text.defined_names import MAX_NAMES, defined_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@final\nclass Parser(Base):\n    async def parse(self, x):", ["Parser", "parse"]),
        ("def swap(a, b) -> tuple[int, int]: ...", ["swap"]),
        ("class Empty: ...\nclass Plain:\n    x = 1", ["Empty", "Plain"]),
        ("pub(crate) async fn run_it<T>(x: T) -> u8 {\n    let y = 3;", ["run_it"]),
        ("pub struct Point(f64);\nstruct Row<'a> {\nmacro_rules! my_vec {", ["Point", "Row", "my_vec"]),
        ("func (s *Server) Handle(w http.ResponseWriter) error {\n    if (w) {", ["Handle"]),
        ("type Config struct {\ntype Handler func(w int)\ntype Id = string", ["Config", "Handler", "Id"]),
        ("fun String.slug(): String {\ndata class User(val id: Int)", ["slug", "User"]),
        ("public static <T> List<T> of(T a, T b) {\n    } else if (a) {\n    return make(a) {", ["of"]),
        ("static int\nmax_of(int a, int b)\n{\n    for (;;) {", ["max_of"]),
        ("int Foo::bar() const {\ntypedef struct node {\nenum class Kind : int {", ["bar", "node", "Kind"]),
        ("synchronized (x) {\nusing (var f = open()) {\nlock (x) {\nwhen (x) {", []),
        ("export default function App() {\nexport const useStore = create(() => {", ["App", "useStore"]),
        ("const id = <T,>(x: T): T => x\n  const user = getUser(1);", ["id"]),
        ("describe('a parser', function () {\n  it('reads', () => {", []),
        (
            "export interface Props extends Base {\nservice Recall {\n  rpc Ask(Q) returns (A);",
            ["Props", "Recall", "Ask"],
        ),
        (
            "CREATE TABLE IF NOT EXISTS public.users (\ncreate or replace view active as x",
            ["users", "active"],
        ),
        ('create unique index "by_day" on t\nCREATE FUNCTION f(a int) RETURNS int', ["by_day", "f"]),
        (
            "#define MAX_ROWS 12\nmodule Api\n  class Users < Base\n    def valid?\n      x",
            ["MAX_ROWS", "Api", "Users", "valid"],
        ),
        ("function deploy {\nfunction stop() {\nbuild() {", ["deploy", "stop", "build"]),
        ('group.addoption(\n    "--lf",\n    "--last-failed",\n    help="--no"', ["--lf", "--last-failed"]),
        ("p.add_argument('-v', '--verbose')\n.option('-p, --port <n>', 'x')", ["--verbose", "--port"]),
        ('flag.String("listen", "", "where")', ["--listen"]),
        ("export const RETRY_LIMIT = 5;\nconst NAME = 'x'\nlet total = a + b", []),
        ("const f = (a, b) => a;\nconst g = async (x) => x;\nconst h = x => x;", ["f", "g", "h"]),
        ("retries = 5\nself.parse(text)\nif parse(text):\n    import parse", []),
        (f"def {'x' * 400}():", []),
    ],
)
def test_names_by_language(text: str, names: list[str]) -> None:
    """What must follow the name in each language; calls, assignments and other blocks define nothing."""
    assert defined_names(text) == names


@pytest.mark.parametrize(
    "line",
    [
        "The class struggles with math.",
        "class of 2012",
        "class tomorrow",
        "class trip is on Friday",
        "class yoga: 7pm",
        "class passport (photo) is on Friday at school",
        "function room is booked for Saturday",
        "function foo is not defined",
        "view from the top",
        "View apartment (Rua Augusta)",
        "table tennis (Thursday) with Marek",
        "table reservation; 7pm",
        "message Ana as soon as the train arrives",
        "message Ana: call back at 5",
        "message Ana",
        "record player is broken",
        "record: 5 wins",
        "service charge: 12 pounds",
        "fun run (5k) on Sunday",
        "type A is rare",
        "Type A",
        "sub Marek is out",
        "union dues: 20 a month",
        "module 3 starts on Monday",
        "object to this",
        "def not going (lol)",
        "def the best",
        "Dinner (with Ana) {",
        "create table reservations for Friday",
        "let me know (by Friday)",
    ],
)
def test_prose_defines_nothing(line: str) -> None:
    """Many keywords are English words."""
    assert defined_names(f"{line}\nSee you there.") == []


def test_names_are_bounded() -> None:
    """A generated file defines no more than `MAX_NAMES`, each once."""
    text = "\n".join(f"def f{number % 100}(): pass" for number in range(1_000))
    assert defined_names(text) == [f"f{number}" for number in range(MAX_NAMES)]
