"""Names that a text defines, in several languages; prose defines none."""

from __future__ import annotations

import pytest

from helix_shared.naming.definitions import MAX_NAMES, defined_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@final\nclass Parser(Base):\n    async def parse(self, x):", ["Parser", "parse"]),
        ("def swap(a, b) -> tuple[int, int]: ...", ["swap"]),
        ("pub(crate) async fn run_it<T>(x: T) -> u8 {\n    let y = make(x);", ["run_it", "y"]),
        ("macro_rules! my_vec {", ["my_vec"]),
        ("func (s *Server) Handle(w http.ResponseWriter) error {\n    if (w) {", ["Handle"]),
        ("public static <T> List<T> of(T a, T b) {\n    } else if (a) {\n    return make(a) {", ["of"]),
        ("static int\nmax_of(int a, int b) {\n    for (;;) {", ["max_of"]),
        ("export default function App() {\nexport const useStore = create(() => {", ["App", "useStore"]),
        ("describe('a parser', function () {\n  it('reads', () => {", []),
        ("export interface Props extends Base {\ntype Id = string;", ["Props", "Id"]),
        ("CREATE TABLE IF NOT EXISTS users (\ncreate or replace view active as x", ["users", "active"]),
        ("message Step {\n  rpc Recall(Request) returns (Reply);", ["Step", "Recall"]),
        ("#define MAX_ROWS 12\nmodule Api\nclass Users < Base\ndef all", ["MAX_ROWS", "Api", "Users", "all"]),
        ('group.addoption(\n    "--lf",\n    "--last-failed",\n    help="--no"', ["--lf", "--last-failed"]),
        ("p.add_argument('-v', '--verbose')\n.option('-p, --port <n>', 'x')", ["--verbose", "--port"]),
        ('flag.String("listen", "", "where")', ["--listen"]),
        ("export const RETRY_LIMIT = 5;\nconst NAME = 'x'\nlet total = a + b", []),
        ("const f = (a, b) => a;\nconst g = async (x) => x;\nconst h = x => x;", ["f", "g", "h"]),
        ("retries = 5\nself.parse(text)\nif parse(text):\n    import parse", []),
        ("The class struggles with math.\nclass of 2012\nview from the top\nType A\nrecord: 5 wins", []),
        ("class tomorrow\nfunction room\ntable salt\ntype B", []),
        ("The function of the heart is to pump.\nmodule 3 starts on Monday\nobject to this", []),
        (f"def {'x' * 400}():", []),
    ],
)
def test_names_by_language(text: str, names: list[str]) -> None:
    """Keywords, methods with a body and options define; calls, assignments and prose do not."""
    assert defined_names("", text) == names


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("src/_pytest/config.py::Config.getoption", ["getoption", "Config.getoption"]),
        ("src/cache.py::LFPlugin", ["LFPlugin"]),
        ("core::net::TcpStream", ["TcpStream", "net.TcpStream"]),
        ("src/a.py::<module>", []),
        ("src/a.py", []),
        ("README.md", []),
        ("How we deploy", []),
        ("", []),
    ],
)
def test_a_title_names_what_its_text_is(title: str, names: list[str]) -> None:
    """As splitters of code write it; a file and a sentence are no names."""
    assert defined_names(title, "") == names


def test_names_are_bounded() -> None:
    """A generated file defines no more than `MAX_NAMES`, each once."""
    text = "\n".join(f"def f{number % 100}(): pass" for number in range(1_000))
    assert defined_names("", text) == [f"f{number}" for number in range(MAX_NAMES)]
