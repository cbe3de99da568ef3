//! From a call to what it publishes or subscribes to: which argument is what, for our clients and for wrappers.

use std::sync::Arc;

use crate::record::{Call, Expr, ExprKind, Span};
use crate::resolve::{Meaning, NameResolver, ReceiverKind, SourceModule, SourceTree};
use crate::settings::{CallAction, Wrapper};

/// What makes an event that `publish_event` and `publish_batch` of Rust publish.
pub const NEW_EVENT: &str = "NewEvent::new";

/// Methods of our clients, in all languages.
pub const VERBS: [&str; 12] = [
    NEW_EVENT,
    "publish",
    "publishBatch",
    "publish_batch",
    "subscribe",
    "unsubscribe",
    "events",
    "deliveries",
    "tail",
    "topics",
    "header",
    "publish_event",
];

/// A place in the code where events are published or read.
#[derive(Debug, Clone)]
pub struct Site {
    pub module: Arc<SourceModule>,
    /// The whole call.
    pub span: Span,
    pub action: CallAction,
    pub topics: Vec<Expr>,
    pub payload: Option<Expr>,
    /// An object of headers.
    pub headers: Option<Expr>,
    /// Names of single headers.
    pub header_names: Vec<Expr>,
    pub group: Option<Expr>,
}

/// What became of the calls of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct CallCounts {
    /// On our clients, and of wrappers.
    pub ours: u64,
    /// On something that is shown to be somebody else's.
    pub foreign: u64,
    /// On something of which nothing is known, and which does not look like ours.
    pub unknown: u64,
}

/// All sites of a module.
pub fn find(tree: &SourceTree<'_>, module: &Arc<SourceModule>) -> (Vec<Site>, CallCounts) {
    let mut sites = Vec::new();
    let mut counts = CallCounts::default();
    for call in &module.record.calls {
        let evaluator = NameResolver::new(tree);
        if let Some(wrapper) = wrapper_of(&evaluator, module, call) {
            counts.ours += 1;
            sites.push(of_wrapper(module, call, wrapper));
            continue;
        }
        if call.name == NEW_EVENT {
            let site = of_new_event(&evaluator, module, call);
            counts.ours += u64::from(site.is_some());
            sites.extend(site);
            continue;
        }
        let Some(receiver) = call.receiver.as_ref().filter(|_| VERBS.contains(&call.name.as_str())) else {
            continue;
        };
        let found = match evaluator.receiver(module, receiver) {
            ReceiverKind::Unknown if looks_like_ours(&evaluator, module, call) => ReceiverKind::Ours,
            kind => kind,
        };
        match found {
            ReceiverKind::Ours => {
                let found = of_client(&evaluator, module, call);
                counts.ours += u64::from(!found.is_empty());
                sites.extend(found);
            }
            ReceiverKind::Other => counts.foreign += u64::from(is_verb_of_buses(&call.name)),
            ReceiverKind::Unknown => counts.unknown += u64::from(is_verb_of_buses(&call.name)),
        }
    }
    (sites, counts)
}

/// `NewEvent::new("orders.placed".parse()?, payload)`
fn of_new_event(evaluator: &NameResolver<'_>, module: &Arc<SourceModule>, call: &Call) -> Option<Site> {
    let mut is_ours = false;
    evaluator.each(module, call.callee.as_ref()?, 0, &mut |_, meaning| {
        is_ours |= matches!(meaning, Meaning::ClientClass);
    });
    let topic = call.arguments.first().filter(|_| is_ours)?;
    let topic = match &topic.kind {
        ExprKind::Call(callee, _) => match &callee.kind {
            ExprKind::Member(text, method) if method == "parse" => text,
            _ => topic,
        },
        _ => topic,
    };
    Some(Site {
        module: module.clone(),
        span: call.span,
        action: CallAction::Publish,
        topics: vec![topic.clone()],
        payload: call.arguments.get(1).cloned(),
        headers: None,
        header_names: Vec::new(),
        group: None,
    })
}

/// The others are methods of many things.
fn is_verb_of_buses(name: &str) -> bool {
    name.starts_with("publish") || name.ends_with("subscribe")
}

/// Nothing is known of the receiver, but the file imports a client, and the arguments are those of its method.
fn looks_like_ours(evaluator: &NameResolver<'_>, module: &Arc<SourceModule>, call: &Call) -> bool {
    let imports_client = module
        .record
        .imports
        .iter()
        .any(|name| matches!(evaluator.tree.target(module, name), crate::resolve::ModuleTarget::Client(_)));
    let first_is_text = || {
        let first = call.arguments.first().or_else(|| named(call, "topic"));
        first.is_some_and(|first| !evaluator.texts(module, first).known.is_empty())
    };
    let arguments = call.arguments.len() + call.named.len();
    imports_client && matches!(call.name.as_str(), "publish" | "subscribe") && arguments >= 2 && first_is_text()
}

fn wrapper_of<'t>(evaluator: &NameResolver<'t>, module: &Arc<SourceModule>, call: &Call) -> Option<&'t Wrapper> {
    let wrappers = &evaluator.tree.settings.wrappers;
    wrappers.iter().find(|wrapper| {
        if wrapper.last_name() != call.name {
            return false;
        }
        let is_called_so = match (wrapper.receiver(), &call.receiver_text) {
            (None, None) => true,
            (Some(expected), Some(text)) => text.rsplit(['.', ':']).next() == Some(expected),
            // `bus.emit` where `bus` is the whole module.
            (None, Some(_)) => wrapper.module.is_some() && is_of_namespace(evaluator, module, call),
            (Some(_), None) => false,
        };
        is_called_so && wrapper.module.as_deref().is_none_or(|from| comes_from(evaluator, module, call, from))
    })
}

fn is_of_namespace(evaluator: &NameResolver<'_>, module: &Arc<SourceModule>, call: &Call) -> bool {
    let Some(receiver) = &call.receiver else { return false };
    let of_package = match &receiver.kind {
        ExprKind::Local(binding) => {
            let values = module.record.bindings.get(*binding as usize).map_or(&[][..], |binding| &binding.values);
            matches!(values, [Expr { kind: ExprKind::Module(_), .. }])
        }
        _ => false,
    };
    let mut of_file = false;
    evaluator.each(module, receiver, 0, &mut |_, meaning| of_file |= matches!(meaning, Meaning::Namespace));
    of_package || of_file
}

/// Whether the function, or what it is a method of, was imported from a module, or is defined in it.
fn comes_from(evaluator: &NameResolver<'_>, module: &Arc<SourceModule>, call: &Call, from: &str) -> bool {
    let root = &evaluator.tree.settings.root;
    let is_file = |path: &std::path::Path| path == root.join(from);
    if is_file(&module.path) {
        return true;
    }
    let mut expr = match call.receiver.as_ref().or(call.callee.as_ref()) {
        Some(expr) => expr,
        None => return false,
    };
    // Through `const bus = module.bus` to the module's name.
    for _ in 0..8 {
        match &expr.kind {
            ExprKind::Member(of, _) | ExprKind::Instance(of) | ExprKind::Call(of, _) => expr = of,
            ExprKind::Local(binding) => match module.record.bindings[*binding as usize].values.first() {
                Some(value) => expr = value,
                None => return false,
            },
            ExprKind::Module(name) => {
                return name == from
                    || matches!(evaluator.tree.target(module, name),
                        crate::resolve::ModuleTarget::File(path, _) if is_file(&path));
            }
            _ => return false,
        }
    }
    false
}

fn of_wrapper(module: &Arc<SourceModule>, call: &Call, wrapper: &Wrapper) -> Site {
    let argument = |index: Option<usize>| index.and_then(|index| call.arguments.get(index)).cloned();
    let topic = argument(Some(wrapper.topic)).or_else(|| named(call, "topic").cloned());
    Site {
        module: module.clone(),
        span: call.span,
        action: wrapper.action,
        topics: topic.into_iter().collect(),
        payload: argument(wrapper.payload).or_else(|| named(call, "payload").cloned()),
        headers: argument(wrapper.headers).or_else(|| named(call, "headers").cloned()),
        header_names: Vec::new(),
        group: argument(wrapper.group).or_else(|| named(call, "group").cloned()),
    }
}

fn of_client(evaluator: &NameResolver<'_>, module: &Arc<SourceModule>, call: &Call) -> Vec<Site> {
    let positional = |index: usize| call.arguments.get(index).cloned();
    let argument = |index: usize, name: &str| positional(index).or_else(|| named(call, name).cloned());
    let option = |of: Option<Expr>, name: &str| of.map(|of| Expr::member(of.clone(), name, of.span));
    let site = |action: CallAction, topics: Vec<Expr>| Site {
        module: module.clone(),
        span: call.span,
        action,
        topics,
        payload: None,
        headers: None,
        header_names: Vec::new(),
        group: None,
    };
    let one = |topic: Option<Expr>| topic.into_iter().collect::<Vec<_>>();
    let is_typescript = module.language == crate::front::SourceLanguage::TypeScript;
    match call.name.as_str() {
        "publish" => {
            let headers =
                if is_typescript { option(positional(2), "headers") } else { named(call, "headers").cloned() };
            let site = site(CallAction::Publish, one(argument(0, "topic")));
            vec![Site { payload: argument(1, "payload"), headers, ..site }]
        }
        "publishBatch" | "publish_batch" => match call.arguments.first().map(|events| (&events.kind, events)) {
            Some((ExprKind::Array(_), events)) => of_batch(events, &site),
            Some((ExprKind::Local(_), _)) => of_named_batch(evaluator, module, call, &site),
            Some((ExprKind::Call(callee, arguments), events)) => of_mapped_batch(callee, arguments, events, &site),
            _ => Vec::new(),
        },
        "subscribe" if is_typescript => {
            let mut topics = one(positional(0));
            // Without a value there, it says nothing.
            topics.extend(more_topics(positional(3)));
            vec![Site { group: positional(1), ..site(CallAction::Subscribe, topics) }]
        }
        "subscribe" | "unsubscribe" => {
            vec![Site { group: argument(1, "group"), ..site(CallAction::Subscribe, one(argument(0, "topic"))) }]
        }
        "deliveries" => {
            vec![Site { group: argument(1, "group"), ..site(CallAction::Subscribe, one(argument(0, "topic"))) }]
        }
        "events" => {
            let group = if is_typescript { option(positional(1), "group") } else { named(call, "group").cloned() };
            vec![Site { group, ..site(CallAction::Subscribe, one(argument(0, "topic"))) }]
        }
        "tail" => vec![site(CallAction::Subscribe, one(argument(0, "topic")))],
        "topics" => {
            let element = positional(0).map(|of| Expr::new(of.span, ExprKind::Element(Box::new(of))));
            vec![site(CallAction::Subscribe, one(element))]
        }
        "header" => vec![Site { header_names: one(positional(0)), ..site(CallAction::Publish, Vec::new()) }],
        _ => Vec::new(),
    }
}

/// `{ topics: [...] }` of a subscription's options, where it is written there.
fn more_topics(options: Option<Expr>) -> Option<Expr> {
    let ExprKind::Object(properties) = options?.kind else {
        return None;
    };
    let topics = properties.into_iter().find(|property| property.key.as_deref() == Some("topics"))?.value;
    Some(Expr::new(topics.span, ExprKind::Element(Box::new(topics))))
}

fn of_batch(events: &Expr, site: &dyn Fn(CallAction, Vec<Expr>) -> Site) -> Vec<Site> {
    let ExprKind::Array(events) = &events.kind else {
        return Vec::new();
    };
    let of_event = |event: &Expr| {
        let ExprKind::Object(properties) = &event.kind else {
            return None;
        };
        let member = |name: &str| {
            let mut named = properties.iter().filter(|property| property.key.as_deref() == Some(name));
            named.next().map(|property| property.value.clone())
        };
        let headers = member("opts").map(|opts| Expr::member(opts.clone(), "headers", opts.span));
        let topic = member("topic")?;
        Some(Site { payload: member("payload"), headers, ..site(CallAction::Publish, vec![topic]) })
    };
    events.iter().filter_map(of_event).collect()
}

/// `orders.map((order) => ({ topic, payload: order }))`
fn of_mapped_batch(
    callee: &Expr,
    arguments: &[Expr],
    events: &Expr,
    site: &dyn Fn(CallAction, Vec<Expr>) -> Site,
) -> Vec<Site> {
    let is_map = matches!(&callee.kind, ExprKind::Member(_, name) if name == "map");
    match arguments.first().map(|first| &first.kind) {
        Some(ExprKind::Function(event)) if is_map => {
            of_batch(&Expr::new(events.span, ExprKind::Array(vec![(**event).clone()])), site)
        }
        _ => Vec::new(),
    }
}

/// A batch that has a name in the same file.
fn of_named_batch(
    evaluator: &NameResolver<'_>,
    module: &Arc<SourceModule>,
    call: &Call,
    site: &dyn Fn(CallAction, Vec<Expr>) -> Site,
) -> Vec<Site> {
    let mut found = Vec::new();
    evaluator.each(module, &call.arguments[0], 0, &mut |other, meaning| {
        if let Meaning::Literal(literal) = meaning
            && other.path == module.path
        {
            found.extend(of_batch(literal, site));
        }
    });
    found
}

fn named<'c>(call: &'c Call, name: &str) -> Option<&'c Expr> {
    call.named.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}
