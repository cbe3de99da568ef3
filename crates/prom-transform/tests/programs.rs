//! What programs answer: jq's language on JSON in, JSON out.

use prom_transform::{CompileError, Program, ProgramLimits, RunError};

fn check(program: &str, input: &str, expected: &[&str]) {
    let outputs = Program::compile(program, ProgramLimits::default())
        .unwrap_or_else(|error| panic!("{program}: {error}"))
        .run(input.as_bytes())
        .unwrap_or_else(|error| panic!("{program} on {input}: {error}"));
    let outputs: Vec<String> =
        outputs.into_iter().map(|text| String::from_utf8(text).expect("JSON is UTF-8")).collect();
    assert_eq!(outputs, expected, "{program} on {input}");
}

fn compile_error(program: &str) -> CompileError {
    Program::compile(program, ProgramLimits::default()).err().unwrap_or_else(|| panic!("{program} compiled"))
}

fn run_error(program: &str, input: &str) -> RunError {
    let program = Program::compile(program, ProgramLimits::default()).expect("a program");
    program.run(input.as_bytes()).expect_err("an error")
}

#[test]
fn an_event_is_read_and_rewritten() {
    let event = r#"{"key":"k","payload":{"pid":7,"mem_mb":3.5,"tags":["a","b"]}}"#;
    check(".payload.pid", event, &["7"]);
    check(".payload.tags[]", event, &[r#""a""#, r#""b""#]);
    check(".payload.missing", event, &["null"]);
    check(".payload.tags | length", event, &["2"]);
    check(r#""\(.key):\(.payload.pid)""#, event, &[r#""k:7""#]);
    check(".payload | .mem_mib = .mem_mb | del(.mem_mb)", event, &[r#"{"pid":7,"tags":["a","b"],"mem_mib":3.5}"#]);
    check(".payload | select(.pid > 100)", event, &[]);
    check(".payload | with_entries(select(.key != \"tags\"))", event, &[r#"{"pid":7,"mem_mb":3.5}"#]);
    check(".payload.tags |= map(ascii_upcase) | .payload.tags", event, &[r#"["A","B"]"#]);
    check("{a: .key} * {b: {c: 1}} * {b: {d: 2}}", event, &[r#"{"a":"k","b":{"c":1,"d":2}}"#]);
}

#[test]
fn the_language_is_jq() {
    check("[.[] | . * 2] | add", "[1,2,3]", &["12"]);
    check("[limit(3; range(10))]", "null", &["[0,1,2]"]);
    check("sort_by(.a) | map(.a)", r#"[{"a":2},{"a":1}]"#, &["[1,2]"]);
    check("group_by(.k) | map(length)", r#"[{"k":1},{"k":2},{"k":1}]"#, &["[2,1]"]);
    check("unique, min, max, (. - [2])", "[3,2,2]", &["[2,3]", "2", "3", "[3]"]);
    check("[paths]", r#"{"a":[1]}"#, &[r#"[["a"],["a",0]]"#]);
    check("getpath([\"a\",\"b\"])", r#"{"a":{"b":5}}"#, &["5"]);
    check("walk(if type == \"number\" then . + 1 else . end)", r#"{"a":[1]}"#, &[r#"{"a":[2]}"#]);
    check("reduce .[] as [$k, $v] ({}; .[$k] = $v)", r#"[["a",1],["b",2]]"#, &[r#"{"a":1,"b":2}"#]);
    check(
        "test(\"^a.c$\"), sub(\"b\"; \"x\"), (split(\"b\") | join(\"-\"))",
        r#""abc""#,
        &["true", r#""axc""#, r#""a-c""#],
    );
    check("tojson, (tojson | fromjson | .a), ([.a] | tostring)", r#"{"a":1}"#, &[r#""{\"a\":1}""#, "1", r#""[1]""#]);
    check("try error(\"x\") catch .", "null", &[r#""x""#]);
    check(".a // \"default\", (.b? // 1)", "{}", &[r#""default""#, "1"]);
    check(".[1:3], .[-1], .[:1]", "[1,2,3,4]", &["[2,3]", "4", "[1]"]);
    check(".[1:3]", r#""añbc""#, &[r#""ñb""#]);
    check("contains({a: [1]}), has(\"a\"), indices(\"x\")?", r#"{"a":[1,2]}"#, &["true", "true"]);
    check("indices(1), index(1), (.[1:] = [9])", "[0,1,1]", &["[1,2]", "1", "[0,9]"]);
    check(".[0] = 5 | del(.[1])", "[1,2,3]", &["[5,3]"]);
    check(". == {b:1,a:[2]}, . < {c:1}, ([1,2] < [1,3])", r#"{"a":[2],"b":1}"#, &["true", "true", "true"]);
    check("def f($n): if $n > 9 then $n else f($n + 1) end; f(0)", "null", &["10"]);
    check("[.[] | tonumber] | bsearch(2)", r#"["1","2"]"#, &["1"]);
    check("now > 1600000000", "null", &["true"]);
}

#[test]
fn setting_a_field_below_an_absent_one_makes_the_object() {
    check(".meta.source = \"x\"", "{}", &[r#"{"meta":{"source":"x"}}"#]);
}

#[test]
fn numbers_keep_their_digits_and_outputs_are_json() {
    check(".", "[12345678901234567890123, 1.10, 1e400, -0.0]", &["[12345678901234567890123,1.10,1e400,-0.0]"]);
    check("3.0 * 2, 7 / 2, 1 / 3", "null", &["6", "3.5", "0.3333333333333333"]);
    check("[nan, infinite, -infinite]", "null", &["[null,null,null]"]);
    check(".", r#""\u0001\"\\é\ud83d\ude00""#, &["\"\\u0001\\\"\\\\é😀\""]);
}

#[test]
fn the_first_output_decides_a_test_and_none_is_false() {
    let test = |program: &str| Program::compile(program, ProgramLimits::default()).unwrap().test(b"{}").unwrap();
    assert!(test("true, error(\"not reached\")"));
    assert!(test("0") && test("\"\"") && test("[]"));
    assert!(!test("false, true") && !test("null") && !test("empty"));
}

#[test]
fn the_first_output_is_given_without_computing_the_rest() {
    let program = Program::compile("1, error(\"not reached\")", ProgramLimits::default()).unwrap();
    assert_eq!(program.first(b"null").unwrap().as_deref(), Some(&b"1"[..]));
    let program = Program::compile("empty", ProgramLimits::default()).unwrap();
    assert_eq!(program.first(b"null").unwrap(), None);
}

#[test]
fn a_compile_error_is_one_line_that_names_the_position() {
    let place = |program: &str| match compile_error(program) {
        CompileError::Invalid { line, column, reason } => (line, column, reason),
        other => panic!("{other}"),
    };
    assert_eq!(place(".a |").0, 1);
    assert_eq!(place(".a |\n  nosuch(1)"), (2, 3, "undefined filter `nosuch`".into()));
    assert_eq!(place("\"é\" | $x"), (1, 7, "undefined variable `$x`".into()));
    assert_eq!(place("{a: 1"), (1, 6, "expected closing brace, found the end".into()));
    for program in ["", "{", "\"", ".a |", "1 +", "if . then", "..a..", "&"] {
        let message = compile_error(program).to_string();
        assert!(!message.contains('\n') && message.contains("line 1"), "{program:?}: {message}");
    }
}

#[test]
fn nothing_outside_the_program_can_be_reached() {
    for program in [
        "env",
        "$ENV",
        "env.PATH",
        "input",
        "inputs",
        "halt",
        "halt_error",
        "halt(1)",
        "debug",
        "debug(\"x\")",
        "stderr",
        "input_filename",
        "localtime",
        "include \"a\"; .",
        "import \"a\" as a; .",
        "import \"a\" as $a; $a",
        "$__loc__ | env",
        "module {name: \"x\"}; .",
        "get_search_list",
        "error_empty(1)",
    ] {
        compile_error(program);
    }
}

#[test]
fn errors_of_the_program_come_with_their_message() {
    assert_eq!(run_error("error(\"no pid\")", "null"), RunError::Program("no pid".into()));
    assert!(matches!(run_error(".a", "[1]"), RunError::Program(text) if text.contains("cannot index")));
    assert!(matches!(run_error(". + 1", "{}"), RunError::Program(text) if text.contains("cannot calculate")));
    assert!(matches!(run_error("{(1|tojson|fromjson): 2}", "{}"), RunError::Program(_)));
    assert!(matches!(run_error("test(\"(\")", "\"a\""), RunError::Program(_)));
    let long = format!("\"{}\"", "é".repeat(10_000));
    assert!(run_error("error", &long).to_string().len() < 300);
}

#[test]
fn an_input_that_is_not_json_is_refused() {
    for input in ["", "{", "1 2", "NaN", "# comment\n1", "b\"x\"", "{1:2}", "'a'", "[1,]"] {
        assert!(matches!(run_error(".", input), RunError::Input(_)), "{input}");
    }
    let program = Program::compile(".", ProgramLimits::default()).unwrap();
    assert!(matches!(program.run(b"\"\xff\""), Err(RunError::Input(_))));
}

#[test]
fn a_program_is_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    let program = Program::compile(".n * 2", ProgramLimits::default()).unwrap();
    shared(&program);
    std::thread::scope(|scope| {
        for n in 0..4 {
            let program = program.clone();
            scope.spawn(move || {
                let output = program.first(format!("{{\"n\":{n}}}").as_bytes()).unwrap().unwrap();
                assert_eq!(output, (n * 2).to_string().into_bytes());
            });
        }
    });
}

#[test]
fn matches_are_described_in_characters_and_groups_in_any_order() {
    let run = |program: &str, input: &str| {
        let outputs = Program::compile(program, ProgramLimits::default()).unwrap().run(input.as_bytes()).unwrap();
        outputs.into_iter().map(|output| String::from_utf8(output).unwrap()).collect::<Vec<_>>().join(" ")
    };
    let found = r#"{"offset":2,"length":2,"string":"ab","captures":[{"offset":3,"length":1,"string":"b","name":"y"}]}"#;
    assert_eq!(run(r#"match("a(?<y>b)")"#, "\"éüab\""), found);
    assert_eq!(run(r#"[match("(?:(b)|(a))*"; "g").captures[].string]"#, "\"ab\""), r#"["b","a"]"#);
    assert_eq!(run(r#"[scan("[a-z]+")]"#, "\"ab 12 CD ef\""), r#"["ab","ef"]"#);
    assert_eq!(run(r#"[scan("[a-z]+"; "i")] | length"#, "\"ab 12 CD ef\""), "3");
    assert_eq!(run(r#"gsub("(?<d>[0-9]+)"; "<\(.d)>")"#, "\"a1b22\""), r#""a<1>b<22>""#);
    assert_eq!(run(r#"[splits("[, ]+")]"#, "\"a, b c\""), r#"["a","b","c"]"#);
}
