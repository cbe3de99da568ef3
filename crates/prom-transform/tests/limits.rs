//! A program ends, whatever it does, and its process continues.

use std::time::{Duration, Instant};

use prom_transform::{CompileError, Exceeded, Program, ProgramLimits, RunError};

/// Far above the limits below and the slowest build, far below what the programs would take.
const PATIENCE: Duration = Duration::from_secs(30);

fn run(program: &str, input: &str, limits: ProgramLimits) -> Result<Vec<Vec<u8>>, RunError> {
    let started = Instant::now();
    let program = Program::compile(program, limits).unwrap_or_else(|error| panic!("{program}: {error}"));
    let outcome = program.run(input.as_bytes());
    assert!(started.elapsed() < PATIENCE, "{program:?} took {:?}", started.elapsed());
    outcome
}

fn stopped(program: &str) -> Exceeded {
    match run(program, "null", ProgramLimits::default()) {
        Err(RunError::Limit(exceeded)) => exceeded,
        other => panic!("{program}: {other:?}"),
    }
}

/// Enough for everything but the limit under test.
fn generous() -> ProgramLimits {
    ProgramLimits {
        time: Duration::from_secs(3600),
        steps: u64::MAX,
        memory_bytes: usize::MAX,
        ..ProgramLimits::default()
    }
}

#[test]
fn endless_programs_are_stopped() {
    for program in [
        "[range(1e18)] | length",
        "range(1e18) | empty",
        "last(range(1e18))",
        "[repeat(.)] | length",
        "last(repeat(.))",
        "def f: f; f",
        "def f: ., f; [f]",
        "def f: f | f; f",
        "def f: [f]; f",
        "def f: 1 + f; f",
        "def f: f + 1; f",
        "def f: {a: f}; f",
        "def f: try f catch f; f",
        "def f: (f, 1) as $x | $x; f",
        "def f: if f then 1 else 2 end; f",
        "def f: f // 1; f",
        "def f($n): f($n + 1); f(0)",
        "def f($n): 1 + f($n + 1); f(0)",
        "[recurse(. + 1; true)] | length",
        "until(false; .)",
        "[while(true; .)] | length",
        "reduce repeat(1) as $x (0; . + $x)",
        "[foreach repeat(1) as $x (0; . + $x)] | length",
        "first(repeat(empty))",
        "[limit(1e18; repeat(1))] | length",
        "skip(1e18; repeat(1))",
        "label $out | repeat(.) | if . then break $out else empty end",
        "isempty(repeat(empty))",
        "def f: .a |= f; f",
        "def f: .a | f; {} | f |= 1",
        "first(path(def f: .a | f; f))",
        "[paths(repeat(empty))] , last(path(recurse(.a)))",
        "path(last(recurse(.a)))",
        "path(last(recurse(.[1:])))",
        "any(repeat(false); .)",
        "repeat(try error catch .) | empty",
        "[.[]?, repeat(error(\"x\")?)] | length",
    ] {
        stopped(program);
    }
}

#[test]
fn a_program_cannot_catch_its_end() {
    stopped("try (def f: f; f) catch \"caught\"");
    stopped("[(def f: 1 + f; f)?]");
    stopped("(try [range(1e18)] catch 1), 2");
    stopped(". as $x | (def f: [f]; f)? // \"alternative\"");
}

#[test]
fn values_cannot_explode() {
    for program in [
        "reduce range(60) as $i (\"ab\"; . + .)",
        "\"ab\" * 1e15",
        "1e15 * \"ab\"",
        "reduce range(60) as $i ([1]; . + .)",
        "reduce range(60) as $i ([1]; [.[], .[]])",
        "reduce range(100) as $i ([1]; [., .]) | tojson",
        "reduce range(100) as $i ([1]; [., .]) | tostring",
        "reduce range(100) as $i ([1]; [., .]) | flatten | length",
        "reduce range(100) as $i ([1]; [., .]) | [..] | length",
        "(reduce range(100) as $i ([1]; [., .])) == (reduce range(100) as $i ([1]; [., .]))",
        "(reduce range(100) as $i ([1]; [., .])) < (reduce range(100) as $i ([1]; [., .]))",
        "reduce range(100) as $i ([1]; [., .]) | contains(reduce range(100) as $i ([1]; [., .]))",
        "reduce range(100) as $i ([1]; [., .]) | [.] - [.]",
        "reduce range(100) as $i ([1]; [., .]) | [., .] | unique",
        "reduce range(100) as $i ({}; {a: ., b: .}) | . * .",
        "reduce range(100) as $i ({}; {a: ., b: .}) | walk(.)",
        "reduce range(100) as $i ({}; {a: ., b: .})",
        "reduce range(60) as $i (\"\\\"\"; tojson)",
        "reduce range(60) as $i (\"a\"; gsub(\"a\"; \"aa\"))",
        "reduce range(60) as $i (\"a\"; \"\\(.)\\(.)\")",
        "reduce range(60) as $i (\"a\"; @base64 + .)",
        "[range(30)] | [combinations(20)] | length",
        "reduce range(1e7) as $i (null; [.])",
        "reduce range(1e7) as $i (null; {a: .})",
        "reduce range(1e7) as $i ([]; .[0] |= [.])",
        "[limit(300; repeat(\"[\"))] | add | . + ([limit(300; repeat(\"]\"))] | add) | fromjson, (def f: f; f)",
    ] {
        match run(program, "null", ProgramLimits::default()) {
            Err(RunError::Limit(_) | RunError::Program(_)) => {}
            other => panic!("{program}: {other:?}"),
        }
    }
    let error = run("reduce range(60) as $i (10; . * .)", "null", ProgramLimits::default()).unwrap_err();
    assert!(matches!(error, RunError::Program(text) if text.contains("bits")));
}

#[test]
fn an_error_about_a_huge_value_stays_small() {
    let error = run("reduce range(100) as $i ([1]; [., .]) | . + 1", "null", ProgramLimits::default()).unwrap_err();
    assert!(matches!(&error, RunError::Program(text) if text.len() < 1000), "{error}");
    let caught =
        run("reduce range(100) as $i ([1]; [., .]) | try (. + 1) catch length", "null", ProgramLimits::default());
    assert!(caught.is_ok());
}

#[test]
fn each_limit_is_named_when_it_stops_a_program() {
    let stopped_by = |program: &str, input: &str, limits: ProgramLimits| match run(program, input, limits) {
        Err(RunError::Limit(exceeded)) => exceeded,
        other => panic!("{program}: {other:?}"),
    };
    let time = Duration::from_millis(20);
    assert_eq!(stopped_by("last(repeat(1))", "null", ProgramLimits { time, ..generous() }), Exceeded::Time);
    assert_eq!(stopped_by("last(repeat(1))", "null", ProgramLimits { steps: 1_000, ..generous() }), Exceeded::Steps);
    let memory = ProgramLimits { memory_bytes: 10_000, ..generous() };
    assert_eq!(stopped_by("[range(1000)]", "null", memory), Exceeded::Memory);
    assert_eq!(stopped_by("def f: 1 + f; f", "null", generous()), Exceeded::Recursion);
    assert_eq!(stopped_by("reduce range(200) as $i (0; [.])", "null", generous()), Exceeded::Depth);
    let output = ProgramLimits { output_bytes: 10, ..generous() };
    assert_eq!(stopped_by("., .", "\"12345\"", output.clone()), Exceeded::OutputBytes);
    assert!(run(".", "\"12345\"", output).is_ok());
    let outputs = ProgramLimits { outputs: 2, ..generous() };
    assert_eq!(stopped_by("1, 2, 3", "null", outputs.clone()), Exceeded::Outputs);
    assert_eq!(run("1, 2", "null", outputs).unwrap().len(), 2);
}

#[test]
fn the_time_limit_is_kept_closely() {
    let program =
        Program::compile("last(repeat(1))", ProgramLimits { time: Duration::from_millis(50), ..generous() }).unwrap();
    let started = Instant::now();
    assert_eq!(program.test(b"null"), Err(RunError::Limit(Exceeded::Time)));
    let elapsed = started.elapsed();
    assert!(elapsed >= Duration::from_millis(50) && elapsed < Duration::from_secs(2), "{elapsed:?}");
}

#[test]
fn an_input_deeper_than_the_limit_is_refused_and_one_at_the_limit_is_not() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let limits = || ProgramLimits { depth: 100, ..ProgramLimits::default() };
    assert!(run(".", &nested(100), limits()).is_ok());
    assert!(matches!(run(".", &nested(101), limits()), Err(RunError::Input(_))));
    assert!(matches!(run(".", &nested(1_000_000), ProgramLimits::default()), Err(RunError::Input(_))));
    assert!(matches!(run(".", &"9".repeat(1_000_000), ProgramLimits::default()), Err(RunError::Input(_))));
}

#[test]
fn a_path_cannot_grow_until_releasing_it_overflows_the_stack() {
    let endless = ProgramLimits { time: Duration::from_secs(20), ..generous() };
    for program in ["path(last(recurse(.a)))", "path(last(recurse(.[1:])))", "last(path(recurse(.a)))"] {
        assert_eq!(run(program, "null", endless.clone()), Err(RunError::Limit(Exceeded::Depth)), "{program}");
    }
}

#[test]
fn regular_expressions_are_not_matched_against_huge_strings() {
    let error =
        run("(\"a\" * 1000000) | [match(\"a\"; \"g\")] | length", "null", ProgramLimits::default()).unwrap_err();
    assert!(matches!(&error, RunError::Program(text) if text.contains("too long")), "{error}");
    assert!(run("(\"a\" * 60000) | test(\"(a*)*b\")", "null", ProgramLimits::default()).is_ok());
}

#[test]
fn a_stopped_program_runs_again_on_the_next_input() {
    let program = Program::compile("if . then (def f: [f]; f) else 1 end", ProgramLimits::default()).unwrap();
    for _ in 0..50 {
        assert!(matches!(program.first(b"true"), Err(RunError::Limit(_))));
        assert_eq!(program.first(b"false").unwrap().as_deref(), Some(&b"1"[..]));
    }
}

#[test]
fn recursion_with_filters_as_parameters_is_refused_before_it_runs() {
    for program in [
        "def f(g): f(g); f(.)",
        "def f(g): f(g | g); f(.)",
        "def f(g): def h: f(g); h; f(.)",
        "def f(g; $n): if $n > 0 then f(g + 1; $n - 1) else g end; f(0; 1000000)",
        "def f(g): [.[] | {a: \"\\(f(g))\"}]; f(.)",
    ] {
        let error = Program::compile(program, ProgramLimits::default()).unwrap_err();
        assert!(
            matches!(&error, CompileError::Invalid { reason, .. } if reason.contains("inner definition")),
            "{error}"
        );
    }
    for program in ["def f(g): def h: g, h; h; first(f(1))", "def f(g): g; f(f(f(1)))", "def f($n): f($n); 1"] {
        assert!(run(program, "null", ProgramLimits::default()).is_ok(), "{program}");
    }
}

#[test]
fn monstrous_program_texts_are_refused_or_survived() {
    let too_long = "1".repeat(prom_transform::PROGRAM_BYTES + 1);
    assert!(matches!(Program::compile(&too_long, ProgramLimits::default()), Err(CompileError::TooLong { .. })));
    let room = prom_transform::PROGRAM_BYTES;
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{a:", "1", "}"),
        ("-", "1", ""),
        (".|", ".", ""),
        ("1,", "1", ""),
        ("1+", "1", ""),
        ("try ", "1", ""),
        ("def f: ", "1", ""),
        ("if 1 then ", "1", " end"),
        ("\"\\(", "1", ")\""),
        ("1 as $x|", "1", ""),
        (".[", "0", "]"),
        ("reduce 1 as $x(", "0", ";1)"),
        ("(", "", ""),
    ] {
        let times = (room - middle.len()) / (open.len() + close.len());
        let program = format!("{}{middle}{}", open.repeat(times), close.repeat(times));
        if let Ok(program) = Program::compile(&program, ProgramLimits::default()) {
            // Whether it fits the limits does not matter here, only that it returns.
            let _ = program.run(b"null");
        }
    }
}

#[test]
fn a_regular_expression_that_would_take_long_does_not_begin() {
    let quick = |program: &str| {
        let started = Instant::now();
        let outcome = run(program, "null", ProgramLimits::default());
        assert!(started.elapsed() < Duration::from_secs(5), "{program} took {:?}", started.elapsed());
        outcome.unwrap_err().to_string()
    };
    // Too large for any subject.
    let told = quick(r#"("a" * 65000) | test("(a{0,300}){0,100}b")"#);
    assert!(told.contains("size limit"), "{told}");
    // Too large for this one.
    let told = quick(r#"("a" * 65000) | test("(a{0,30}){0,30}b")"#);
    assert!(told.contains("steps"), "{told}");
    // Every match is found after looking to the end.
    let told = quick(r#"("a" * 65000) | [match("a*b|a"; "g")] | length"#);
    assert!(told.contains("time") || told.contains("steps"), "{told}");
    assert!(run(r#""a" | test("(a{0,30}){0,30}b")"#, "null", ProgramLimits::default()).is_ok());
}
