/** The shapes of the HTTP API. Made from `protocol/openapi.json` by `cargo xtask gen`; not edited by hand. */

/** The wait after the first failure doubles with every further one, up to the longest. */
export interface Backoff {
  /** The wait after the first failure. */
  readonly first_ms: number;
  /** The longest wait. */
  readonly max_ms: number;
}

/** What became of a place. */
export type ChangeKind = "added" | "removed" | "changed";

/** A CloudEvent 1.0 in structured mode. Extensions are members of their own. */
export interface CloudEvent {
  readonly data?: unknown;
  readonly data_base64?: string;
  readonly datacontenttype?: string;
  readonly dataschema?: string;
  readonly id: string;
  readonly source: string;
  readonly specversion: string;
  /** The key. */
  readonly subject?: string;
  readonly time?: string;
  /** The topic, unless the request names one. */
  readonly type: string;
}

/** Settings of a compacted topic. */
export interface Compaction {
  /** How long a tombstone stays after it was first cleaned. */
  readonly tombstone_grace_ms: number;
}

/** `true`, `false`, or how. */
export type CompactionChoice = boolean | Compaction;

/** The cursors of a topic. */
export interface CursorList {
  readonly cursors: readonly CursorView[];
  readonly topic: TopicName;
}

/** Where a group stands in one partition. */
export interface CursorView {
  /** How many offsets above the floor are settled. */
  readonly ackedAbove: number;
  readonly group: GroupName;
  /** The last event before the floor, if it is still there. */
  readonly lastId?: EventId | null;
  readonly lastTs?: number | null;
  /** The floor: everything before it is settled. */
  readonly offset: number;
  readonly partition: number;
}

/** Events so far, those of earlier runs included. */
export interface CutoverCounts {
  /** The target had them already, by their id. */
  readonly already: number;
  /** Left to read, as far as offsets tell. */
  readonly left: number;
  readonly read: number;
  /** Left out: they cannot be brought to the version, or have no key for a collection. */
  readonly skipped: number;
  /** They exist and cannot be read. */
  readonly unreadable: number;
  /** Those among the skipped that have no key. */
  readonly without_key: number;
  /** Stored in the target. */
  readonly written: number;
}

/**
 * One line of the answer. The last one is `done` or `error`; after an error, or without an end, asking again goes on.
 */
export type CutoverReport = { readonly progress: CutoverCounts } | { readonly done: CutoverResult } | { readonly error: ProblemDocument };

/** The body of `POST /topics/{topic}/cutover`. Without a target the events go to `<topic>.v<N>`. */
export interface CutoverRequest {
  /** Leave out events that cannot be brought to the version, and count them. Otherwise the first one ends it. */
  readonly skip_unfit?: boolean;
  /** The topic that the events go to. */
  readonly to?: TopicName;
  /** The collection that the latest event of each key goes to. */
  readonly to_collection?: string;
}

/** What came of it. */
export type CutoverResult = CutoverCounts & { readonly adds_up: boolean; readonly read_before?: number; readonly to: string; readonly topic: TopicName; readonly version: number };

/** What goes with a topic. */
export interface DeletedTopicView {
  readonly bytes: number;
  readonly events: number;
  /** Groups whose cursors go, as far as the caller may see them. The groups stay. */
  readonly groups: readonly GroupName[];
  /** There are more, which the caller may not see. */
  readonly hidden?: boolean;
  readonly topic: TopicName;
}

/** The answer to `DELETE /topics/{topic}`. */
export interface DeletedTopics {
  /** Nothing was deleted. */
  readonly dry_run: boolean;
  /** The topic, then its dead letters if they go as well. */
  readonly topics: readonly DeletedTopicView[];
}

/** The answer to a deletion. */
export interface DeletedVersions {
  readonly topic: TopicName;
  readonly versions: readonly number[];
}

/** A limit of the dispatcher. */
export type DispatchLimit = "ranges_above" | "waiting" | "look_ahead" | "filter";

/** The dispatcher at one moment. */
export interface DispatcherView {
  readonly blocked_events: number;
  readonly blocked_keys: number;
  readonly dead_letters_failing: number;
  readonly dead_letters_pending: number;
  /** Events that are delivered before fresh ones. */
  readonly due: number;
  readonly in_flight: number;
  /** The limit that holds fresh events back. */
  readonly limit?: DispatchLimit | null;
  readonly oldest?: OldestView | null;
  readonly paused_subscribers: number;
  readonly ranges_above: number;
  /** Events that were read and not delivered yet. */
  readonly ready: number;
  readonly subscribers: number;
  /** Failed events in their backoff. */
  readonly waiting: number;
}

/** How long a topic is written to twice. */
export interface DualWriteView {
  /** In epoch milliseconds; for good if not said. */
  readonly until?: number;
}

/** How safe an acknowledged event is. */
export type Durability = "fsync" | "os" | "majority" | "memory";

/** A stored event, whole and owned: what `prom sub` prints and an export holds. */
export interface Event {
  /** Events that led to this one. */
  readonly caused_by?: readonly EventId[];
  /** Text beside the payload. */
  readonly headers?: Headers;
  /** Unique within its partition. */
  readonly id: EventId;
  /** Its key. */
  readonly key?: string;
  /** Its offset in the partition. */
  readonly offset: number;
  /** Its partition. */
  readonly partition: number;
  /** What it says. */
  readonly payload: Json;
  /** The session of the publisher. */
  readonly sid?: string;
  /** By the hub's clock; never decreases within a partition. */
  readonly stored_ts: number;
  /** Words to find it by. */
  readonly tags?: readonly string[];
  /** Its topic. */
  readonly topic: TopicName;
  /** By the publisher's clock. */
  readonly ts: number;
}

/** The id of an event: 16 bytes, written in the usual lower-case form with dashes. */
export type EventId = string;

/** Events per second. */
export interface EventRates {
  readonly acked_per_s: number;
  readonly delivered_per_s: number;
  readonly published_per_s: number;
}

/** Events since the process started. */
export interface EventTotals {
  readonly acked: number;
  readonly delivered: number;
  readonly published: number;
}

/** The answer to `GET /groups`. */
export interface GroupList {
  /** Those that the caller's rights cover, by name. */
  readonly groups: readonly GroupView[];
  /** There are more, which the caller may not see. */
  readonly hidden?: boolean;
  /** Hubs that serve some of them and did not answer: their subscribers are not counted. */
  readonly silent_hubs?: readonly string[];
}

/** A subscriber of a group. */
export interface GroupMemberView {
  /** Where it is connected from; a hub's address if it comes through another hub. */
  readonly address?: string | null;
  /** Events that are leased to it. */
  readonly in_flight: number;
  /** How many may be. */
  readonly max_in_flight: number;
  /** The name it gave itself, or the name of its connection. */
  readonly member: string;
  /** How long it has held the oldest of its events. */
  readonly oldest_lease_ms?: number | null;
  readonly paused: boolean;
  /** When it subscribed. */
  readonly since_ts: number;
  /** The subject of its token. */
  readonly subject?: string | null;
  readonly topics: readonly TopicPattern[];
}

/** Letters, digits, `.`, `_`, `:` and `-`; at most 128. */
export type GroupName = string;

/** The options of the group. `null` is the default of the topic or the hub. */
export interface GroupOptionsView {
  readonly backoff: Backoff;
  /** The group is deleted after this long without a subscriber; `null`: never. */
  readonly expire_after_ms?: number | null;
  /** A jq program over the whole event. */
  readonly filter?: string | null;
  /** Where the group began: `latest`, `earliest`, `ts:…`, `after:…` or `offset:…`. */
  readonly from: string;
  readonly max_attempts?: number | null;
  readonly mode: Mode;
  readonly order: Order;
  /** Into how many partitions the group divides topics that have one. */
  readonly partitions?: number | null;
}

/** One partition and its owner. */
export interface GroupPartitionView {
  /**
   * Raised by a change of the owner; in shared mode when another dispatcher takes over or the cursor is moved. `null`
   * before the first time.
   */
  readonly epoch?: number | null;
  /** Everything before it is settled; `null` for a virtual partition. */
  readonly floor?: number | null;
  readonly in_flight: number;
  readonly lag_events?: number | null;
  /** The next owner, while the present one finishes what it holds. */
  readonly moving_to?: string | null;
  readonly next?: number | null;
  /** The member that owns it; `null` in shared mode. */
  readonly owner?: string | null;
  readonly partition: number;
  /** Subscribers that take from it. */
  readonly subscribers: number;
}

/** A group and what it subscribes to. */
export interface GroupView {
  readonly created_ts: number;
  readonly group: GroupName;
  /** Kept up to date only where the group can expire. */
  readonly last_used_ts: number;
  /** Who takes part, by name. Left out in the list of all groups. */
  readonly members?: readonly GroupMemberView[];
  /** The address of the hub that serves the group, among several on one store. */
  readonly served_by?: string;
  /** Subscribers at all hubs. */
  readonly subscribers: number;
  readonly subscriptions: readonly SubscriptionView[];
}

/** Names are `x-…`, `content-type`, `traceparent` and `tracestate`. */
export type Headers = Readonly<Record<string, string>>;

/** The process answers, or takes events. */
export interface HealthAnswer {
  /**
   * Tasks of the hub that panicked within the last minute and were started again, by kind; missing where there are
   * none. Report them: the hub's log has the reasons.
   */
  readonly failing?: Readonly<Record<string, number>>;
  /** `ok` */
  readonly status: string;
}

/** An event that a member holds. */
export interface HeldLeaseView {
  /** Where the holder is connected from. */
  readonly address?: string | null;
  /** Failed attempts before this one. */
  readonly attempts: number;
  /** How long the lease still runs, unless it is renewed. */
  readonly expires_in_ms: number;
  readonly held_ms: number;
  readonly id?: EventId | null;
  readonly key?: string | null;
  /** Why it failed the last time. */
  readonly last_error?: string | null;
  readonly member: string;
  readonly offset: number;
  /** How often the holder asked for more time. One that is only slow does so again and again. */
  readonly renewals: number;
  readonly returns: number;
  /** The subject of the holder's token. */
  readonly subject?: string | null;
}

/** The hub at a glance. Counts begin with the process. */
export interface HubStats {
  readonly events: EventTotals;
  readonly groups: number;
  /** Leased to subscribers at this moment. */
  readonly in_flight: number;
  /** In the last ten seconds; `null` until it is known: ask again in a second. */
  readonly rates?: EventRates | null;
  /** Resident memory of the process, where the system tells it. */
  readonly rss_bytes?: number | null;
  readonly store: StoreView;
  readonly topics: number;
  readonly uptime_s: number;
  readonly version: string;
  readonly ws_connections: number;
}

/** One line of the answer. */
export type ImportReport = { readonly error: ProblemDocument; readonly line: number } | { readonly progress: number } | { readonly duplicates: number; readonly failed: number; readonly imported: number };

/** Any JSON. */
export type Json = unknown;

/** The body of `POST /groups/{group}/kick`. */
export interface KickMember {
  /** As `GET /groups/{group}` names it. */
  readonly member: string;
}

/** The answer to `POST /groups/{group}/kick`. */
export interface KickedMemberView {
  readonly group: GroupName;
  readonly member: string;
  /** Events that it held and that went back. */
  readonly returned: number;
  /** Subscriptions that ended. */
  readonly subscriptions: number;
}

/** One lag where topic and group are given, else those that the caller may see. */
export type LagAnswer = LagView | { readonly hidden?: boolean; readonly lags: readonly LagView[]; readonly omitted?: number; readonly silent_hubs?: readonly string[] };

/** Retained, unsettled events of a group in a topic. */
export interface LagView {
  /** Dead letters of the topic that are retained, of all its groups; what is in them counts as settled. */
  readonly deadLetters?: number;
  readonly group: GroupName;
  readonly inFlight: number;
  readonly lagEvents: number;
  /** The age of the oldest unsettled event. */
  readonly lagMs: number;
  /** The floor: everything before it is settled. The sum over the partitions. */
  readonly lastCursor: number;
  readonly partitions: readonly PartitionLagView[];
  /** The offset that the next event gets. The sum over the partitions. */
  readonly tail: number;
  readonly topic: TopicName;
}

/** Whether an event may be stored although publishing failed. */
export type MaybeStored = "no" | "unknown";

/** A member and its partitions. */
export interface MemberView {
  readonly member: string;
  /** What it says about itself. */
  readonly meta?: unknown;
  readonly partitions: readonly number[];
  /** Partitions that go to it first. */
  readonly pins: readonly number[];
  /** How long it may be silent. */
  readonly ttl_ms?: number | null;
  /** Its share of the partitions in relation to other members. */
  readonly weight: number;
}

/** Whether partitions have owners. */
export type Mode = "shared" | "partitioned";

/** What the move does, or would do, in one partition. Events that are gone count as events. */
export interface MovedCursor {
  /** The floor until now. */
  readonly before: number;
  /** Settled events that are delivered again. */
  readonly comeAgain: number;
  /** The new floor; it goes on at once over what is settled there. */
  readonly offset: number;
  readonly partition: number;
  /** Unsettled events that are not delivered any more. */
  readonly skipped: number;
}

/** The answer to `POST /cursors`. */
export interface MovedCursors {
  readonly cursors: readonly MovedCursor[];
  /** Whether nothing was moved, because only the preview was asked for. */
  readonly dryRun: boolean;
  readonly group: GroupName;
  readonly topic: TopicName;
}

/** What the oldest unsettled event waits for. */
export type OldestState = "not_scanned" | "ready" | "leased" | "waiting" | "dead_letter_pending" | "dead_letter_failing";

/** The oldest unsettled event. */
export interface OldestView {
  readonly attempts: number;
  /** Why it failed the last time. */
  readonly last_error?: string | null;
  readonly offset: number;
  /** How often it came back because its connection ended. */
  readonly returns: number;
  readonly state: OldestState;
}

/** What an unsettled event holds back. */
export type Order = "none" | "key";

/** The lag in one partition. */
export interface PartitionLagView {
  readonly floor: number;
  readonly inFlight: number;
  readonly lagEvents: number;
  readonly lagMs: number;
  readonly next: number;
  readonly partition: number;
}

/** The partitions of a topic as a group reads them. */
export interface PartitionList {
  /** Counts changes of members and partitions since the hub started; `null` in shared mode. */
  readonly generation?: number | null;
  readonly group: GroupName;
  /** Empty in shared mode. */
  readonly members: readonly MemberView[];
  readonly mode: Mode;
  readonly partitions: readonly GroupPartitionView[];
  readonly topic: TopicName;
  /** Whether the group divides a topic of one partition into these. */
  readonly virtual: boolean;
}

/** What holds a group back in one partition. */
export interface PartitionWhyView {
  /** What can be done about it, what loses nothing first. */
  readonly actions?: readonly WhyActionView[];
  /** The event at the floor. */
  readonly event?: EventId | null;
  /** One line for people. */
  readonly explanation: string;
  readonly floor: number;
  /** The events that were held the longest, longest first; ten at most. */
  readonly held?: readonly HeldLeaseView[];
  /** The key of that event. */
  readonly key?: string | null;
  readonly lag_events: number;
  readonly next: number;
  readonly partition: number;
  /** What the dispatcher knows; `null` while it does not run, because nothing subscribes. */
  readonly status?: DispatcherView | null;
}

/** The body of `PATCH /groups/{group}`. What is left out stays as it is. */
export interface PatchGroup {
  readonly backoff?: Backoff;
  /** The group is deleted after this long without a subscriber; `null`: never. */
  readonly expire_after_ms?: number | null;
  /** Cannot change. */
  readonly filter?: string | null;
  /** Cannot change: the refusal says what to do instead. */
  readonly from?: string | null;
  readonly max_attempts?: number;
  /** Cannot change. */
  readonly mode?: string | null;
  /** Cannot change. */
  readonly order?: string | null;
  /** Cannot change. */
  readonly partitions?: number | null;
  /** The topic or pattern whose options change. All that the group subscribes to unless given. */
  readonly topic?: TopicPattern | null;
}

/** Where to begin, field by field. */
export interface PositionFields {
  /** With `from: afterId`: the events after this one. */
  readonly afterId?: EventId | null;
  readonly from?: StartFrom | null;
  /** With `from: offset`: in every partition. */
  readonly offset?: number | null;
  /** With `from: ts`: the first event stored at or after this, in epoch milliseconds. */
  readonly ts?: number | null;
}

/** A problem document. */
export interface ProblemDocument {
  /** The same codes as over WebSocket. A newer hub may have more. */
  readonly code: string;
  /** What is wrong here, and how to put it right. */
  readonly detail: string;
  /** The parameter, field or attribute that is at fault. */
  readonly field?: string;
  /** The item of a batch that is at fault, counted from 0. */
  readonly index?: number;
  /** With `schema_invalid`: where in the payload, as a JSON pointer; empty for the whole. */
  readonly pointer?: string;
  /** Try again after this many milliseconds. */
  readonly retry_after_ms?: number;
  /** With `schema_invalid`: the keyword that refuses it. */
  readonly rule?: string;
  readonly status: number;
  /** Whether a failed publish may have been stored anyway. */
  readonly stored?: MaybeStored;
  /** What the code means in general. */
  readonly title: string;
  /** `urn:promethean:problem:` and the code. */
  readonly type: string;
  /** With `schema_invalid`: what is there, shortened. */
  readonly value?: string;
  /** With `schema_invalid`: the version of the schema that judged the payload. */
  readonly version?: number;
  /** Why a schema is incompatible with those before it. */
  readonly violations?: readonly ViolationView[];
}

/** Events so far. */
export interface ProveCounts {
  /** Those that would fail. */
  readonly failed: number;
  /** Left to look at, as far as offsets tell. */
  readonly left: number;
  /** Looked at. */
  readonly scanned: number;
}

/** An event that would fail. */
export interface ProveFailureView {
  readonly id: string;
  readonly offset: number;
  readonly partition: number;
  /** Why, with the place in the payload. */
  readonly reason: string;
}

/** One line of the answer. The last one is `done` or `error`. */
export type ProveReport = { readonly progress: ProveCounts } | { readonly done: ProveResult } | { readonly error: ProblemDocument };

/** What was found. */
export interface ProveResult {
  /** Events that could not be brought to the candidate. */
  readonly failed: number;
  /** The first of them. */
  readonly failures: readonly ProveFailureView[];
  /** The groups that read the topic. */
  readonly groups: readonly GroupName[];
  /** How many more groups read it, which this token may not see. */
  readonly hidden: number;
  readonly notes?: readonly string[];
  /** Events looked at. */
  readonly scanned: number;
  /** Events that exist and cannot be read. */
  readonly unreadable: number;
  /** The number that the candidate would get, or has. */
  readonly version: number;
  /** Where the schemas themselves are not compatible, if `compat` was given. */
  readonly violations?: readonly ViolationView[];
}

/** An event as a frame or an HTTP request carries it. */
export interface Publish {
  readonly opts?: PublishOpts;
  /** Any JSON; `null` deletes the key of a compacted topic. */
  readonly payload: Json;
  readonly topic: TopicName;
}

/** One receipt for one event, else one result per item. */
export type PublishAnswer = Receipt | readonly PublishResult[];

/** One event, or many. */
export type PublishBody = Publish | readonly Publish[];

/** Everything about an event that may be left out. */
export interface PublishOpts {
  /** Ids of the events that led to this one. */
  readonly caused_by?: readonly EventId[];
  /** It also goes to the topic of its schema's version, both or neither. */
  readonly dual_write?: boolean;
  /** The id is unique for as long as the event is retained, not only for ten minutes. */
  readonly exact?: boolean;
  readonly headers?: Headers;
  /** A UUID, best version 7; made by the hub when absent. */
  readonly id?: EventId | null;
  /** Decides the partition, the order and what compaction keeps. */
  readonly key?: string | null;
  /** A partition chosen by hand. */
  readonly partition?: number | null;
  /** The publisher's session. */
  readonly sid?: string | null;
  readonly tags?: readonly string[];
  /** When it happened, in epoch milliseconds; decides nothing. */
  readonly ts?: number | null;
}

/** The result of one item of a batch. */
export type PublishResult = Receipt | ProblemDocument;

/** The body of `PUT /topics/{topic}`. What is left out is the default, also for a topic that exists. */
export interface PutTopic {
  /** Keeps at least the latest event of each key; every event then needs a key. */
  readonly compaction?: CompactionChoice | null;
  /** Events go to the topic of their schema's version as well, both or neither. */
  readonly dual_write?: DualWriteView | null;
  /** A jq program over the event that makes its key where the publisher gives none. */
  readonly key?: string | null;
  /** Failed attempts before an event goes to the dead letters, for groups that do not say. */
  readonly max_attempts?: number | null;
  /**
   * Never lowered, and never raised on a compacted topic. Raising moves keys to other partitions, and is written to the
   * audit trail. 1 unless given.
   */
  readonly partitions?: number;
  readonly retention?: Retention;
}

/** The promise that an event is stored, and where. */
export interface Receipt {
  /** The id was stored before, and this is where: nothing was stored now. */
  readonly duplicate?: boolean;
  /** How durable it is. */
  readonly durability: Durability;
  /** The id of the event. */
  readonly id: EventId;
  /** The place in the partition: 0, 1, 2… */
  readonly offset: number;
  /** Where it is. */
  readonly partition: number;
  /** When it was stored, by the hub's clock, in epoch milliseconds. */
  readonly stored_ts: number;
}

/** The body of `POST /topics/{topic}/schema` and of `/check`. */
export interface RegisterSchema {
  /** Judge this registration otherwise than the topic's settings say. */
  readonly compat?: string;
  readonly references?: readonly SchemaReference[];
  /** A JSON Schema of at most 256 KiB. */
  readonly schema: unknown;
  /** A jq program that turns a payload of the version before into one of this version. */
  readonly upcast?: string;
  /** The number it is expected to get. Refused if it would get another. */
  readonly version?: number;
}

/** The answer to a registration. */
export interface RegisteredVersion {
  /** It was registered before; nothing was changed. */
  readonly existed: boolean;
  readonly id: number;
  /** What to think about although it is allowed. */
  readonly notes?: readonly string[];
  readonly version: number;
}

/** A topic of the registry. */
export interface RegistryTopic {
  readonly compat: string;
  /** The latest version that is not deleted. */
  readonly latest?: number | null;
  /** The id of its schema. */
  readonly latest_id?: number | null;
  /** When it was registered. */
  readonly latest_ts?: number | null;
  readonly policy: string;
  readonly topic: TopicName;
  /** Versions that an upcaster leads away from. */
  readonly upcasters: readonly number[];
  /** Versions that are not deleted. */
  readonly versions: readonly number[];
}

/** The answer to `GET /registry`. */
export interface RegistryView {
  /** There are more, which the caller may not see. */
  readonly hidden?: boolean;
  /** What holds where a topic sets nothing. */
  readonly settings: SchemaSettingsView;
  /** Those that the caller's rights cover, by name. */
  readonly topics: readonly RegistryTopic[];
}

/**
 * The body of `POST /groups/{group}/release`: one event by its offset or its id, the leases of a member, or, with
 * neither, all leases of the group in the topic.
 */
export interface ReleaseLeases {
  readonly id?: EventId | null;
  /** As `GET /groups/{group}` names it. */
  readonly member?: string | null;
  readonly offset?: number | null;
  /** Of the offset. 0 unless given; needed where the topic has several. */
  readonly partition?: number | null;
  readonly topic: TopicName;
}

/** A lease that was taken back. */
export interface ReleasedLeaseView {
  /** Who held it. */
  readonly member?: string | null;
  readonly offset: number;
  readonly partition: number;
}

/** The answer to `POST /groups/{group}/release`. */
export interface ReleasedLeasesView {
  readonly group: GroupName;
  /** What was taken back, by partition and offset. */
  readonly released: readonly ReleasedLeaseView[];
  readonly topic: TopicName;
}

/** A page of a replay. */
export interface ReplayPage {
  readonly count: number;
  /** Nothing more was there. */
  readonly end: boolean;
  readonly events: readonly Event[];
  /** Give it as `?next=` to continue, now or later. */
  readonly next: string;
  readonly topic: TopicName;
}

/** Limits on the age and the size of a partition. Without either, events stay forever. */
export interface Retention {
  /** Events older than this go. */
  readonly age_ms?: number | null;
  /** The oldest events beyond this many bytes go. */
  readonly size_bytes?: number | null;
}

/** One place where two schemas differ. */
export interface SchemaChange {
  /** What is there in `to`. */
  readonly after?: unknown;
  /** What is there in `from`. */
  readonly before?: unknown;
  readonly change: ChangeKind;
  /** A JSON pointer into the schema. */
  readonly pointer: string;
}

/** The answer to `GET /topics/{topic}/schema/diff`. */
export interface SchemaDiff {
  /** Why documents of `from` are not all valid under `to`; empty where they are. */
  readonly backward: readonly ViolationView[];
  /** In the order of their pointers. */
  readonly changes: readonly SchemaChange[];
  /** Why documents of `to` are not all valid under `from`; empty where they are. */
  readonly forward: readonly ViolationView[];
  readonly from: number;
  readonly to: number;
  readonly topic: TopicName;
}

/** Another schema of the registry that a schema refers to. */
export interface SchemaReference {
  /** As `$ref` names it. */
  readonly name: string;
  /** The topic whose schema it is. */
  readonly subject: TopicName;
  readonly version: number;
}

/**
 * Settings that differ from what is inherited: the body of a change, and the overrides of a topic. What is left out
 * stays as it is.
 */
export interface SchemaSettingsChange {
  readonly admit?: string;
  readonly compat?: string;
  readonly formats?: string;
  readonly policy?: string;
  readonly undecided?: string;
  readonly unversioned_as?: number;
}

/** How schemas are judged: the answer where settings were asked for or changed. */
export interface SchemaSettingsView {
  /** Which versions a publisher that names none may write: `newest` that accepts the payload, or only the `latest`. */
  readonly admit: string;
  /**
   * What a new version must be to those before it: `none`, `backward`, `forward`, `full`, the last three with
   * `_transitive`, or `upcast`.
   */
  readonly compat: string;
  /** What `format` means: `annotate` or `assert`. */
  readonly formats: string;
  /** What counts as a document of an open model: `lenient` or `strict`. */
  readonly policy: string;
  /** What becomes of a pair that cannot be decided: `refuse` or `allow`. */
  readonly undecided: string;
  /** The version of stored events that name none. */
  readonly unversioned_as: number;
}

/** The answer to `POST /topics/{topic}/schema/check`. Nothing was stored. */
export interface SchemaVerdict {
  readonly compatible: boolean;
  /** The version that has this very schema. */
  readonly existing?: number | null;
  /** What to think about although it is allowed. */
  readonly notes?: readonly string[];
  readonly violations: readonly ViolationView[];
}

/** One version, without its schema. */
export interface SchemaVersionEntry {
  /** Not offered any more; what is stored under it can still be read. */
  readonly deleted?: boolean;
  /** Of the schema; the same wherever this schema is registered. */
  readonly id: number;
  readonly registered_by?: string;
  readonly registered_ts: number;
  readonly version: number;
}

/** The answer to `GET /topics/{topic}/schema/{version}`. */
export type SchemaVersionView = SchemaVersionEntry & { readonly references?: readonly SchemaReference[]; readonly schema: unknown; readonly topic: TopicName };

/** The body of `POST /cursors`. */
export type SetCursor = PositionFields & { readonly dryRun?: boolean; readonly group: GroupName; readonly partition?: number | null; readonly topic: TopicName };

/** The body of `PUT /topics/{topic}/schema/upcasters/{from}`. */
export interface SetUpcaster {
  /** A jq program over the payload. */
  readonly jq: string;
}

/** The body of `POST /skip`: an event by its offset or by its id. */
export interface SkipEvent {
  readonly group: GroupName;
  readonly id?: EventId | null;
  readonly offset?: number | null;
  /** Of the offset. 0 unless given; needed where the topic has several. */
  readonly partition?: number | null;
  readonly topic: TopicName;
}

/** The answer to `POST /skip`. */
export interface SkippedEventView {
  /** The group had settled it before; nothing was changed. */
  readonly already_settled: boolean;
  readonly group: GroupName;
  /** Its id, if the event is still there. */
  readonly id?: EventId | null;
  readonly offset: number;
  readonly partition: number;
  readonly topic: TopicName;
}

/** The kinds of positions. */
export type StartFrom = "latest" | "earliest" | "ts" | "afterId" | "offset";

/** Where events are kept. */
export interface StoreView {
  readonly durability: Durability;
  /** `embedded`, `mongo` or `memory`. */
  readonly kind: string;
}

/** Topics and patterns with the options they share. */
export interface SubscriptionView {
  readonly options: GroupOptionsView;
  readonly topics: readonly TopicPattern[];
}

/** The answer to `GET /topics`. */
export interface TopicList {
  /** There are more, which the caller may not see. */
  readonly hidden?: boolean;
  /** Those that the caller's rights cover, by name. */
  readonly topics: readonly TopicView[];
}

/** Lower-case segments of letters and digits, joined by dots. */
export type TopicName = string;

/** One partition of a topic. */
export interface TopicPartitionView {
  readonly bytes: number;
  /** The offset that the next event gets. */
  readonly head: number;
  readonly partition: number;
  /** The first offset that may still be there. */
  readonly start: number;
}

/** A topic name or a pattern over topic names. */
export type TopicPattern = string;

/** The answer to `GET /topics/{topic}/schema`. */
export interface TopicSchemaView {
  /** What the topic sets itself. */
  readonly overrides: SchemaSettingsChange;
  /** As they hold for this topic. */
  readonly settings: SchemaSettingsView;
  readonly topic: TopicName;
  readonly upcasters: readonly UpcasterView[];
  /** By version, deleted ones included. */
  readonly versions: readonly SchemaVersionEntry[];
}

/** The settings of a topic. */
export interface TopicSettingsView {
  /** `null` where every event stays as long as `retention` says. */
  readonly compaction?: Compaction | null;
  /** Events go to the topic of their schema's version as well. */
  readonly dual_write?: DualWriteView;
  /** A jq program over the event that makes its key where the publisher gives none. */
  readonly key?: string | null;
  /** Failed attempts before an event goes to the dead letters, for groups that do not say. */
  readonly max_attempts?: number | null;
  readonly partitions: number;
  readonly retention: Retention;
}

/** A topic with its settings and what is in it. */
export interface TopicView {
  readonly bytes: number;
  readonly bytes_per_s?: number | null;
  /** Events that are retained. Holes of compacted topics are counted as events. */
  readonly events: number;
  /** Events per second in the last ten seconds; `null` until it is known: ask again in a second. */
  readonly events_per_s?: number | null;
  readonly partitions: readonly TopicPartitionView[];
  /** The latest version of its schema. */
  readonly schema_version?: number;
  readonly settings: TopicSettingsView;
  readonly topic: TopicName;
}

/** The step from one version to the next. */
export interface UpcasterView {
  readonly from: number;
  /** A jq program over the payload. */
  readonly jq: string;
  readonly to: number;
}

/** One keyword that refuses what the other schema accepts. */
export interface ViolationView {
  /** The version that it was compared with. */
  readonly against_version?: number;
  /** `backward`: documents of the old version are refused; `forward`: documents of the new one. */
  readonly direction: string;
  /** A document that one schema accepts and the other refuses. */
  readonly example?: unknown;
  /** How the change is made safely. */
  readonly fix: string;
  readonly message: string;
  /** Where the schema that accepts speaks about the same part of the document, if it does. */
  readonly old_pointer?: string;
  /** JSON pointer to the keyword in the schema that refuses: the new one for `backward`, the old one for `forward`. */
  readonly pointer: string;
  readonly rule: string;
}

/** Something that an operator can do. */
export interface WhyActionView {
  /** The command to type. */
  readonly command: string;
  readonly what: string;
}

/** What holds a group back, partition by partition. */
export interface WhyView {
  /** Dead letters of the topic that are retained, of all its groups. */
  readonly dead_letters?: number;
  readonly group: GroupName;
  readonly partitions: readonly PartitionWhyView[];
  readonly topic: TopicName;
}
