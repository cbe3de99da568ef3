/** The shapes of the HTTP API. Made from `protocol/openapi.json` by `cargo xtask gen`; not edited by hand. */

/** What came of a change. */
export interface ActedFlow {
  /** What was done, in words. */
  readonly done: string;
  readonly kind: FlowKindView;
  readonly name: string;
  /** How many rows it changed, where it was about rows. */
  readonly rows?: number;
}

/** The live keys of a topic at a time, in order, page by page. */
export interface AtPage {
  /** The newest event of each key. */
  readonly items: readonly Event[];
  /** For the next page; `null` on the last. */
  readonly next?: string | null;
}

/** How a piece of work in the background is doing. Of several hubs on one database, one does it at a time. */
export interface BackgroundView {
  /** Another hub does it at the moment. */
  readonly elsewhere: boolean;
  /** What the last pass failed with. It is tried again. */
  readonly failed?: string | null;
  /** Passes that failed one after the other. */
  readonly failures: number;
  /** When the last pass of this hub ended; a flow has no passes. */
  readonly last_pass_ts?: i64 | null;
  readonly work: string;
}

/** The wait after the first failure doubles with every further one, up to the longest. */
export interface Backoff {
  /** The wait after the first failure. */
  readonly first_ms: number;
  /** The longest wait. */
  readonly max_ms: number;
}

/** What became of a place. */
export type ChangeKind = "added" | "removed" | "changed";

/**
 * The body of `POST /flows/outbox/{name}/requeue` and `/drop`: which rows in error. Everything that is given must hold.
 */
export interface ChooseFlowRows {
  /** All rows in error. Has to be said where nothing else is. */
  readonly all?: boolean;
  /** Only the rows with these `_id`s, 1000 at the most. */
  readonly ids?: readonly string[];
  /** Only rows of this key. */
  readonly key?: string;
  /** At most this many rows, the oldest first, 1 to 10 000; 1000 unless given. */
  readonly limit?: number;
  /** Only rows of this topic. */
  readonly topic?: string;
}

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
  /**
   * Events stay for at least this long, also those that a later one replaced. So far back the topic can be read as it
   * was.
   */
  readonly min_age_ms?: number;
  /** How long a tombstone stays after it was first cleaned. */
  readonly tombstone_grace_ms: number;
}

/** `true`, `false`, or how. */
export type CompactionChoice = boolean | Compaction;

/** The answer to `GET /connections`. */
export interface ConnectionList {
  /** Of the hub that was asked, the oldest first unless asked otherwise. */
  readonly connections: readonly ConnectionView[];
  /** The hub that was asked, where several share a store: each lists its own connections. */
  readonly hub?: string;
  /** Give it as `?next=` for the next page, if there is one. */
  readonly next?: string;
  /** How many there are on all pages. */
  readonly total: number;
}

/** What is at the other end. */
export type ConnectionSpeaker = "unknown" | "client" | "hub";

/** A subscription as its client named it. */
export interface ConnectionSubscription {
  /** None: it only looks. */
  readonly group?: string;
  readonly topic: string;
}

/** One WebSocket connection. */
export interface ConnectionView {
  /** Where it comes from. */
  readonly address: string;
  /** Its name in logs, and of a member that gave itself none. */
  readonly connection: string;
  /** When its token ends. */
  readonly expires_at_ms?: i64;
  /** What its token allows; nothing is known before AUTH. */
  readonly rights?: ReachOfRights;
  readonly since_ts: i64;
  /** Whom it speaks for. */
  readonly speaker: ConnectionSpeaker;
  /** The subject of its token. */
  readonly subject?: string;
  /** The first hundred of them. */
  readonly subscribed: readonly ConnectionSubscription[];
  /** How many subscriptions it has. */
  readonly subscriptions: number;
  /** What its client has not taken yet. A slow client has much. */
  readonly unwritten_bytes: number;
}

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

/** The answer to `DELETE /connections/{connection}`. */
export interface CutConnection {
  readonly address: string;
  readonly connection: string;
  /** Subscriptions that ended with it. */
  readonly subscriptions: number;
}

/** Events so far, those of earlier runs included. A snapshot is counted by itself: one event for each live key. */
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
  /**
   * Fields of the payload that lists of the collection can be filtered by, such as `status` or `address.city`; at most
   * 8. They are declared when it is made, and stay.
   */
  readonly fields?: readonly string[];
  /** Leave out events that cannot be brought to the version, and count them. Otherwise the first one ends it. */
  readonly skip_unfit?: boolean;
  /** The topic that the events go to. */
  readonly to?: TopicName;
  /** The collection that the latest event of each key goes to. */
  readonly to_collection?: string;
  /** Write the latest event of each key to `<topic>.snapshot.v<N>`, sorted and closed with a marker. */
  readonly to_snapshot?: boolean;
}

/** What came of it. */
export type CutoverResult = CutoverCounts & { readonly adds_up: boolean; readonly read_before?: number; readonly snapshot?: SnapshotView; readonly to: string; readonly topic: TopicName; readonly version: number };

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

/** The keys that changed between two times, in order, page by page. */
export interface DiffPage {
  readonly items: readonly KeyDifference[];
  /** For the next page; `null` on the last. */
  readonly next?: string | null;
}

/** A limit of the dispatcher. */
export type DispatchLimit = "ranges_above" | "waiting" | "look_ahead" | "filter" | "parked_keys";

/** The dispatcher at one moment. */
export interface DispatcherView {
  readonly blocked_events: number;
  readonly blocked_keys: number;
  readonly dead_letters_failing: number;
  readonly dead_letters_pending: number;
  /** Events that are delivered before fresh ones. */
  readonly due: number;
  /** Events that were given back and are handed out, or about to be. */
  readonly given_back?: number;
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

/** A part of a collection. */
export interface DocumentList {
  /** Documents that match, in all. */
  readonly count: number;
  /** In the order of their keys. */
  readonly items: readonly unknown[];
  readonly limit: number;
  /** The key of the last item, where there are more: give it as `?after=`. */
  readonly next?: string | null;
  /** As it was asked for. */
  readonly offset: number;
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
  /** Events that went to the dead letters. */
  readonly dead_lettered: number;
  readonly delivered: number;
  /** Deliveries given back as failed. */
  readonly nacked: number;
  readonly published: number;
  /** Deliveries of events that reached their group before. */
  readonly redelivered: number;
}

/**
 * A condition of a publish: if it does not hold, nothing is stored. Written as `{"offset": 12}`, `{"key_offset": 12}`
 * or `{"key_offset": null}`.
 */
export type Expectation = { readonly offset: number } | { readonly key_offset: number | null };

/** Where a group has to stand in one partition. */
export interface ExpectedFloor {
  /** The floor, as `before` of a preview. */
  readonly before: number;
  readonly partition: number;
}

/** What a flow did since its hub started. */
export interface FlowCountsView {
  /** Dead letters, and rows in error. */
  readonly failed: number;
  /** Rows, changes or events that it took. */
  readonly read: number;
  /** Left out by a filter, without a key, or older than what is there. */
  readonly skipped: number;
  /** What came of them: events published, documents written. */
  readonly written: number;
}

/** Why a flow does not move. */
export interface FlowFailureView {
  /** In words, with what to do. */
  readonly reason: string;
  /** When it is tried again; missing once it waits for an operator. */
  readonly retry_ts?: number;
  /** When it began. */
  readonly since_ts: number;
  /** Tries since then. */
  readonly tries: number;
}

/** What sort of flow it is, as in paths. */
export type FlowKindView = "outbox" | "feed" | "projection";

/** The answer to `GET /flows`. */
export interface FlowList {
  /** Those that the hub was configured with, by kind and name. */
  readonly flows: readonly FlowView[];
}

/** The answer to `GET /flows/outbox/{name}/rows`. */
export interface FlowRowList {
  readonly outbox: string;
  /** The oldest first. As many as were asked for: there may be more. */
  readonly rows: readonly FlowRowView[];
}

/** A row of an outbox, without its payload. */
export interface FlowRowView {
  /** Failed tries. */
  readonly attempts: number;
  /** Its `_id`. */
  readonly id: string;
  readonly key?: string;
  /** What it failed with last. */
  readonly last_err?: string;
  /** `pending`, `claimed`, `sent` or `error`. */
  readonly status: string;
  /** Where it goes. */
  readonly topic: string;
  /** When it was written, as the writer says. */
  readonly ts: number;
}

/** How long a stage of a flow takes. */
export interface FlowStageView {
  /** Of the last one. */
  readonly last_ms: number;
  readonly name: string;
  /** Half of the recent ones took at most this long. */
  readonly p50_ms: number;
  /** All but one in a hundred of the recent ones took at most this long. */
  readonly p99_ms: number;
}

/** Whether a flow moves. */
export type FlowStateView = "starting" | "snapshot" | "running" | "elsewhere" | "retrying" | "stopped";

/** How a flow is doing at the hub that was asked. */
export interface FlowView {
  readonly counts: FlowCountsView;
  /** More about it, by name. */
  readonly details?: Readonly<Record<string, string>>;
  /** What it failed with last, while that holds. */
  readonly error?: FlowFailureView;
  /** Where it reads, in words. */
  readonly from: string;
  readonly kind: FlowKindView;
  /** Unique among its kind. */
  readonly name: string;
  /** When the oldest waiting one was made. */
  readonly oldest_ts?: number;
  /** Waiting rows or events; missing where that is not known. */
  readonly pending?: number;
  /** Where it is in its source: a time, a token, an offset. */
  readonly position?: string;
  /** How long its stages take, of this hub. */
  readonly stages: readonly FlowStageView[];
  readonly state: FlowStateView;
  /** Where it writes, in words. */
  readonly to: string;
}

/** Offsets that were not settled and cannot be delivered. The reader continues after them. */
export interface Gap {
  /** The topic of the events. In a frame, `topic` is the pattern that was subscribed to. */
  readonly event_topic: TopicName;
  /** The first offset that is missing. */
  readonly from: number;
  /** The partition of the topic. */
  readonly partition: number;
  /** Why they are gone. */
  readonly reason: string;
  /** The first offset after the gap. */
  readonly to: number;
}

/** The answer to `GET /groups`. */
export interface GroupList {
  /** Those that the caller's rights cover, by name unless asked otherwise. */
  readonly groups: readonly GroupView[];
  /** There are more, which the caller may not see. */
  readonly hidden?: boolean;
  /** Give it as `?next=` for the next page, if there is one. */
  readonly next?: string;
  /** Hubs that serve some of them and did not answer: their subscribers are not counted. */
  readonly silent_hubs?: readonly string[];
  /** How many there are on all pages. */
  readonly total?: number;
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
  /** Whether a key stops when its event goes to the dead letters. */
  readonly park?: boolean;
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
  /** Events that are leased at the hub that was asked. Only in pages of a list. */
  readonly in_flight?: number;
  /** Events that it has not settled, of all its topics. Only in pages of a list: with `limit`. */
  readonly lag_events?: number;
  /** Kept up to date only where the group can expire. */
  readonly last_used_ts: number;
  /** Who takes part, by name. Left out in the list of all groups. */
  readonly members?: readonly GroupMemberView[];
  /**
   * Some of its parked keys, twenty at the most; `/groups/{group}/parked` has all of a topic. Left out in the list of
   * all groups.
   */
  readonly parked?: readonly ParkedKeyView[];
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
   * Tasks of the hub that panicked within the last minute and were started again, work in the background whose last
   * pass failed, and flows that retry or are stopped, by kind; missing where there are none. The hub's log has the
   * reasons, and so has `background` of `/stats`.
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
  /** What this hub does in the background, flows among it. */
  readonly background?: readonly BackgroundView[];
  /** Dead letters that are retained. */
  readonly dead_letters: number;
  readonly events: EventTotals;
  readonly groups: number;
  /** The hub that was asked, where several share a store: events, rates, connections and leases are its own. */
  readonly hub?: string;
  /** Leased to subscribers at this moment. */
  readonly in_flight: number;
  /** Retained events that their groups have not settled, of all groups. */
  readonly lag_events: number;
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
export type ImportReport = { readonly error: ProblemDocument; readonly line: number } | { readonly progress: number } | { readonly duplicates: number; readonly failed: number; readonly imported: number; readonly moved?: number };

/** Any JSON. */
export type Json = unknown;

/** A key that got another event is `changed`, also if that says the same. */
export type KeyChangeKind = "made" | "changed" | "deleted";

/** What became of a key. */
export interface KeyDifference {
  /** The newest event at the second time; `null` where the key was not live. */
  readonly after?: Event | null;
  /** The newest event at the first time; `null` where the key was not live. */
  readonly before?: Event | null;
  readonly change: KeyChangeKind;
  readonly key: string;
}

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

/** Letters of one kind of error. */
export interface LetterErrorView {
  readonly count: number;
  /** What to give as `fingerprint`. `other`: errors that are too many to be told apart. */
  readonly fingerprint: string;
  /** When the first of them was written. */
  readonly firstTs: number;
  readonly groups: readonly LetterGroupCount[];
  readonly lastTs: number;
  /** Letters of groups that are too many to be counted apart. */
  readonly otherGroups?: number;
  /** The error without numbers, ids and quoted parts. */
  readonly pattern: string;
  /** Those among them whose events were handed out again. */
  readonly replayed: number;
  /** The last of them, for those who may read letters and ask for one topic. */
  readonly sample?: LetterView;
}

/** Letters by topic and kind of error. */
export interface LetterErrorsList {
  /** There are more topics with letters, which the caller may not see. */
  readonly hidden?: boolean;
  /** How many more topics there are than an answer has; ask for one by its name. */
  readonly omitted?: number;
  readonly topics: readonly LetterTopicView[];
}

/** Letters of one group. */
export interface LetterGroupCount {
  readonly count: number;
  readonly group: string;
}

/** What a job does. */
export type LetterJobKind = "replay" | "give_back" | "purge";

/** Jobs, the newest first. */
export interface LetterJobList {
  /** There are more, which the caller may not see. */
  readonly hidden?: boolean;
  readonly jobs: readonly LetterJobView[];
  /** Give it as `?next=` to continue; absent at the end. */
  readonly next?: EventId;
}

/** How a job stands. */
export type LetterJobStateView = "running" | "canary" | "paused" | "stopped" | "done" | "cancelled";

/** A job over letters. */
export interface LetterJobView {
  /** The subject that began it. */
  readonly by?: string | null;
  readonly createdTs: number;
  readonly job: EventId;
  readonly kind: LetterJobKind;
  /** Offsets that are left to look at. */
  readonly left: number;
  /** Letters that matched so far. */
  readonly matched: number;
  readonly outcome: LetterOutcomes;
  /** Why it stopped. */
  readonly reason?: string;
  /** Letters whose events were sent, or that were purged. */
  readonly replayed: number;
  /** Letters that matched and were left as they are. */
  readonly skipped: number;
  readonly state: LetterJobStateView;
  /** The topic of the originals. */
  readonly topic: TopicName;
  readonly updatedTs: number;
}

/** What became of the events that a job sent. */
export interface LetterOutcomes {
  /** The group has settled them. */
  readonly acked: number;
  /** They are dead letters once more. */
  readonly deadAgain: number;
  /** The group has not settled them yet, as far as is known. */
  readonly waiting: number;
}

/** That the event of a letter was handed out again. */
export interface LetterReplayView {
  /** The subject that began the job. */
  readonly by?: string | null;
  /** The payload was changed. */
  readonly edited: boolean;
  /**
   * The job that did it. Empty where the event went on by itself, behind others of its parked key that were given back.
   */
  readonly job: string;
  readonly outcome: ReplayOutcomeView;
  readonly ts: number;
}

/** The letters of one topic. Counts are exact. */
export interface LetterTopicView {
  /** Letters that are retained and not purged. */
  readonly count: number;
  /** By kind of error, the most letters first. */
  readonly errors: readonly LetterErrorView[];
  /** Those among them whose events were handed out again. */
  readonly replayed: number;
  /** The topic of the originals. */
  readonly topic: TopicName;
}

/** A dead letter. */
export interface LetterView {
  /** Failed attempts. */
  readonly attempts: number;
  /** How often the event died, this time included. */
  readonly deaths: number;
  /** Why. */
  readonly err: string;
  /** The kind of error. */
  readonly fingerprint: string;
  /** The group that gave up. */
  readonly group: GroupName;
  /** The letter's id, not the event's. */
  readonly id: EventId;
  readonly key?: string;
  readonly offset: number;
  /** The event as it was, whole. */
  readonly original: Json;
  /** Where the letter lies in `dlq.<topic>`. */
  readonly partition: number;
  /** Set if the event was handed out again. */
  readonly replay?: LetterReplayView;
  /** When it was written. */
  readonly ts: number;
}

/** What came of a replay or a purge, or would come of it. */
export interface LettersDone {
  /** The job; absent after a dry run. */
  readonly job?: EventId;
  /** Letters that matched, so far. */
  readonly matched: number;
  /** A dry run looked at the first thousand letters, and there are more. */
  readonly more?: boolean;
  /** Why it stopped. */
  readonly reason?: string;
  /** Letters whose events were sent, or that were purged. */
  readonly replayed: number;
  /** Letters that matched and were left as they are. */
  readonly skipped: number;
  readonly state?: LetterJobStateView;
  /** What a dry run would send, the first letters. */
  readonly wouldSend?: readonly TriedLetterView[];
}

/** A page of letters, newest first. */
export interface LettersView {
  /** Letters on this page. */
  readonly count: number;
  /** The declared index that found them. */
  readonly index?: string;
  readonly letters: readonly LetterView[];
  /** Give it as `?next=` to continue; absent at the end. A page may have few letters although there are more. */
  readonly next?: string;
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
export type OldestState = "not_scanned" | "ready" | "leased" | "waiting" | "dead_letter_pending" | "dead_letter_failing" | "without_room_to_park";

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

/** A key that stopped, because an event of it failed for good. */
export interface ParkedKeyView {
  /** The event that failed last. */
  readonly behind: EventId;
  /** The offset of the event whose turn it is. */
  readonly first?: number | null;
  readonly key: string;
  /** Letters of the key that are neither settled nor dropped; 1000 stands for more. */
  readonly letters: number;
  readonly partition: number;
  readonly since_ts: number;
  readonly topic: TopicName;
  /** That event was given back, and is handed out or about to be. */
  readonly waiting: boolean;
}

/** A page of parked keys. */
export interface ParkedList {
  /** By partition, otherwise in no particular order. */
  readonly keys: readonly ParkedKeyView[];
  /** Where the next page begins; `null` after the last. */
  readonly next?: string | null;
}

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
  /** How many of its keys are parked. */
  readonly parked_keys?: number;
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
  /** Whether keys that fail are parked from now on; only with `order` by key. What is parked stays so. */
  readonly park?: boolean;
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
  /** With `conflict`: what is so instead of what was expected. */
  readonly actual?: Expectation;
  /** The same codes as over WebSocket. A newer hub may have more. */
  readonly code: string;
  /** What is wrong here, and how to put it right. */
  readonly detail: string;
  /** With `history_gone`: the earliest time that has an answer; missing where none has. */
  readonly earliest_ts?: number;
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
  /**
   * What must be so for it to be stored; else the answer is `conflict`. Not looked at for an id that is there already.
   */
  readonly expect?: Expectation | null;
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

/** The body of `POST /dlq/purge`. */
export interface PurgeLetters {
  /** Count what would be purged, and purge nothing. */
  readonly dryRun?: boolean;
  /** A text within the error, in any case of its letters. */
  readonly err?: string;
  /** The kind of error, as `GET /dlq/groups` tells it. */
  readonly fingerprint?: string;
  /** Only letters written at or after this, in epoch milliseconds. */
  readonly fromTs?: number;
  /** The group that gave up. */
  readonly group?: GroupName;
  /** The ids of letters, 1000 at most. */
  readonly ids?: readonly EventId[];
  /** A jq program over the original event; a letter is meant if its first output is neither `false` nor `null`. */
  readonly jq?: string;
  /** The key of the event. */
  readonly key?: string;
  /** At most so many letters, the oldest first; all unless given. */
  readonly limit?: number;
  /** Only letters written before this, in epoch milliseconds. */
  readonly toTs?: number;
  /** The topic of the originals. */
  readonly topic: TopicName;
}

/** The body of `PUT /topics/{topic}`. What is left out is the default, also for a topic that exists. */
export interface PutTopic {
  /** Keeps at least the latest event of each key; every event then needs a key. */
  readonly compaction?: CompactionChoice | null;
  /** Events go to the topic of their schema's version as well, both or neither. */
  readonly dual_write?: DualWriteView | null;
  /** jq expressions over the event, at most 8: searches that compare one with a value are answered without a scan. */
  readonly index?: readonly string[];
  /** A jq program over the event that makes its key where the publisher gives none. */
  readonly key?: string | null;
  /**
   * JSON pointers into the payload: what they name is hidden from readers who do not administer the topic. `*` stands
   * for every member or element. A mask that is there has to be repeated, or ended with `[]`.
   */
  readonly mask?: readonly string[] | null;
  /** Failed attempts before an event goes to the dead letters, for groups that do not say. */
  readonly max_attempts?: number | null;
  /**
   * Never lowered, and never raised on a compacted topic. Raising moves keys to other partitions, and is written to the
   * audit trail. 1 unless given.
   */
  readonly partitions?: number;
  readonly retention?: Retention;
  /** Writes its state to `<topic>.snapshot` so often, if anything is new. */
  readonly snapshot?: SnapshotSettings | null;
  /**
   * Keeps the newest offset of each key, so that publishers can expect it (`opts.expect`). What retention removed
   * before it was turned on is not known.
   */
  readonly versions?: boolean | null;
}

/** How far each right goes. */
export interface ReachOfRights {
  readonly admin: RightReach;
  readonly ops: RightReach;
  readonly publish: RightReach;
  readonly subscribe: RightReach;
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
  /** Give it as `?next=` for the next page, if there is one. */
  readonly next?: string;
  /** What holds where a topic sets nothing. */
  readonly settings: SchemaSettingsView;
  /** Those that the caller's rights cover, by name. */
  readonly topics: readonly RegistryTopic[];
  /** How many there are on all pages. */
  readonly total?: number;
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

/** Events so far, those of earlier runs included. */
export interface ReplayIntoCounts {
  /** Left to read, as far as offsets tell. */
  readonly left: number;
  /** Read, and nothing was made of them. */
  readonly leftOut: number;
  readonly read: number;
  /** Handed to the target, which stores each of them once. */
  readonly sent: number;
  /** Read, and they cannot be made or were refused. */
  readonly skipped: number;
  /** They exist and cannot be read. */
  readonly unreadable: number;
}

/**
 * One line of the answer. The last one is `done` or `error`; after an error, or without an end, asking again goes on.
 */
export type ReplayIntoReport = { readonly progress: ReplayIntoCounts } | { readonly done: ReplayIntoCounts } | { readonly error: ProblemDocument };

/** The body of `POST /replay`. */
export interface ReplayIntoRequest {
  /**
   * Where the first run begins; earliest unless given. A later run of the same replay goes on where the one before
   * ended.
   */
  readonly position?: PositionFields;
  /** Leave out events that cannot be made or are refused, and count them. Otherwise the first one ends it. */
  readonly skipUnfit?: boolean;
  /** The topic that they go to. */
  readonly to: TopicName;
  /** The topic whose events are read. */
  readonly topic: TopicName;
  /**
   * A jq program from the whole event to events. No output leaves it out; key, headers and payload of each output
   * count.
   */
  readonly transform?: string;
}

/**
 * The body of `POST /dlq/replay`. Which letters: everything that is given must hold. Letters whose events were handed
 * out again are never meant.
 */
export interface ReplayLetters {
  /** So many first, and the rest only if all of these were acked, or as many as `stopOnFailure` asks for. */
  readonly canary?: number;
  /** Tell what would be sent, and send nothing. */
  readonly dryRun?: boolean;
  /** A text within the error, in any case of its letters. */
  readonly err?: string;
  /** The kind of error, as `GET /dlq/groups` tells it. */
  readonly fingerprint?: string;
  /** Only letters written at or after this, in epoch milliseconds. */
  readonly fromTs?: number;
  /** The group that gave up. */
  readonly group?: GroupName;
  /** The ids of letters, 1000 at most. */
  readonly ids?: readonly EventId[];
  /** A jq program over the original event; a letter is meant if its first output is neither `false` nor `null`. */
  readonly jq?: string;
  /** The key of the event. */
  readonly key?: string;
  /** At most so many letters, the oldest first; 1000 unless given. */
  readonly limit?: number;
  /** The payload that the event gets instead of its own; for one letter, named by its id. */
  readonly payload?: Json;
  /** Events a second. */
  readonly rate?: number;
  /** Leave letters as they are whose event cannot be made or is refused, and count them as skipped. */
  readonly skipUnfit?: boolean;
  /** Stop when more than this share of the events whose outcome is known died again, in percent. */
  readonly stopOnFailure?: number;
  /** Where the events go: to the topic, for every group, unless they are given back to the one in `group`. */
  readonly to?: ReplayTo;
  /** Only letters written before this, in epoch milliseconds. */
  readonly toTs?: number;
  /** The topic of the originals. */
  readonly topic: TopicName;
  /**
   * A jq program from the original to the event that is sent; its payload counts. No output leaves the letter as it is.
   */
  readonly transform?: string;
}

/** How it went on. */
export type ReplayOutcomeView = "waiting" | "acked" | "dead_again";

/** A page of a replay. */
export interface ReplayPage {
  readonly count: number;
  /** Nothing more was there. */
  readonly end: boolean;
  readonly events: readonly Event[];
  /** What retention removed before this reader got there. */
  readonly gaps?: readonly Gap[];
  /** Give it as `?next=` to continue, now or later. */
  readonly next: string;
  readonly topic: TopicName;
}

/** Where the events of letters go. */
export type ReplayTo = "topic" | "group";

/** Limits on the age and the size of a partition. Without either, events stay forever. */
export interface Retention {
  /** Events older than this go. */
  readonly age_ms?: number | null;
  /** The oldest events beyond this many bytes go. */
  readonly size_bytes?: number | null;
}

/** What a right covers: the hub as a whole (`**`), some topics or groups, or nothing. */
export type RightReach = "everywhere" | "somewhere" | "nowhere";

/** What the caller may do with one topic, outside groups. */
export interface RightsToTopic {
  readonly admin: boolean;
  readonly ops: boolean;
  readonly publish: boolean;
  readonly subscribe: boolean;
}

/** A search that the hub's `prom.toml` keeps for people. All that it names must hold. */
export interface SavedSearch {
  readonly header?: string;
  readonly jq?: string;
  readonly key?: string;
  readonly name: string;
  readonly text?: string;
  readonly topic: TopicName;
}

/** The answer to `GET /searches`. */
export interface SavedSearchList {
  /** Those of topics that the caller may read, as `prom.toml` has them. */
  readonly searches: readonly SavedSearch[];
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

/** A page of a search. */
export interface SearchPage {
  /** Events that the jq program failed on. They do not count as matched. */
  readonly failed?: number;
  /** Why, for the first of them. */
  readonly failure?: string;
  /** The declared index that answered; then `scanned` counts its entries. Without one, events were scanned. */
  readonly index?: string;
  /** Newest first. A page may be empty although there is a next one: how much is looked at is bounded. */
  readonly items: readonly Event[];
  /** Those of them that matched: as many as there are items. */
  readonly matched: number;
  /** Give it as `?next=` to go on; `null` when everything was looked at. */
  readonly next?: string | null;
  /** Events that were looked at for this page. */
  readonly scanned: number;
  /** Events that exist and cannot be read. */
  readonly unreadable?: number;
}

/** The body of `POST /flows/feed/{name}/seek`: a time or a token. */
export interface SeekFeed {
  /** Goes on at the first change from this time on, in epoch milliseconds. */
  readonly at?: number;
  /** Goes on after the change with this resume token. */
  readonly token?: string;
}

/** The body of `POST /cursors`. */
export type SetCursor = PositionFields & { readonly dryRun?: boolean; readonly expect?: readonly ExpectedFloor[]; readonly group: GroupName; readonly partition?: number | null; readonly topic: TopicName };

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

/** The complete snapshots of a topic, oldest first. */
export interface SnapshotList {
  readonly snapshots: readonly SnapshotView[];
  readonly topic: TopicName;
}

/** A snapshot in one partition. */
export interface SnapshotPartitionView {
  /** The first offset of the topic that it does not cover. */
  readonly covered_offset: number;
  /** Everything that it covers was stored by then. */
  readonly covered_ts: number;
  /** The offset of its first event in the topic that holds it. */
  readonly first: number;
  /** The offset of its marker there. */
  readonly marker: number;
  readonly partition: number;
}

/** One line of the answer. The last one is `done` or `error`; without an end the hub goes on by itself. */
export type SnapshotReport = { readonly progress: number } | { readonly done: SnapshotView } | { readonly error: ProblemDocument };

/** Settings of a topic with snapshots. */
export interface SnapshotSettings {
  /** So much time lies between two snapshots. Without anything new there is none. */
  readonly every_ms: number;
}

/** A complete snapshot, and how a cold start reads it. */
export interface SnapshotView {
  readonly began_ts: number;
  /** Live keys. */
  readonly count: number;
  readonly ended_ts: number;
  /** `next` of `GET /replay` of the topic itself, for the events after it. */
  readonly events_next: string;
  readonly id: string;
  readonly partitions: readonly SnapshotPartitionView[];
  /** `next` of `GET /replay` of the topic that holds it, where it begins. In each partition it ends with its marker. */
  readonly snapshot_next: string;
  /** The topic that holds it. */
  readonly snapshot_topic: TopicName;
  /** Every event that was ever published up to what it covers went into it. Otherwise retention was faster. */
  readonly whole: boolean;
}

/** The kinds of positions. */
export type StartFrom = "latest" | "earliest" | "ts" | "afterId" | "offset";

/** Where events are kept. */
export interface StoreView {
  /** Of all events, as far as the store knows without reading. */
  readonly bytes: number;
  readonly durability: Durability;
  /** `embedded`, `mongo` or `memory`. */
  readonly kind: string;
}

/** Topics and patterns with the options they share. */
export interface SubscriptionView {
  readonly options: GroupOptionsView;
  readonly topics: readonly TopicPattern[];
}

/** A declared index. */
export interface TopicIndexView {
  /** Events that are stored and not in it yet. At 0 it is exact. */
  readonly behind: number;
  readonly expression: string;
}

/** The answer to `GET /topics`. */
export interface TopicList {
  /** There are more, which the caller may not see. */
  readonly hidden?: boolean;
  /** Give it as `?next=` for the next page, if there is one. */
  readonly next?: string;
  /** Those that the caller's rights cover, by name unless asked otherwise. */
  readonly topics: readonly TopicView[];
  /** How many there are on all pages. */
  readonly total?: number;
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
  /** jq expressions over the event: searches for their values are answered without a scan. */
  readonly index?: readonly string[];
  /** A jq program over the event that makes its key where the publisher gives none. */
  readonly key?: string | null;
  /** JSON pointers into the payload: what they name is hidden from readers who do not administer the topic. */
  readonly mask?: readonly string[];
  /** Failed attempts before an event goes to the dead letters, for groups that do not say. */
  readonly max_attempts?: number | null;
  readonly partitions: number;
  readonly retention: Retention;
  /** Its state is written to `<topic>.snapshot` so often. */
  readonly snapshot?: SnapshotSettings;
  /** It holds the snapshots of this topic; only the hub publishes there. */
  readonly snapshot_of?: TopicName;
  /** The newest offset of each key is kept, so that publishers can expect it. Compaction keeps it too. */
  readonly versions?: boolean;
}

/** A topic with its settings and what is in it. */
export interface TopicView {
  readonly bytes: number;
  readonly bytes_per_s?: number | null;
  /** Events that are retained. Holes of compacted topics are counted as events. */
  readonly events: number;
  /** Events per second in the last ten seconds; `null` until it is known: ask again in a second. */
  readonly events_per_s?: number | null;
  /** How far its declared indexes are; only where one topic was asked for. */
  readonly indexes?: readonly TopicIndexView[];
  readonly partitions: readonly TopicPartitionView[];
  /** The latest version of its schema. */
  readonly schema_version?: number;
  readonly settings: TopicSettingsView;
  readonly topic: TopicName;
}

/** An event with its causes above it and its effects below. */
export interface TraceAnswer {
  /** Events that the index of causes has not read yet: effects among them are missing. 0: the tree is exact. */
  readonly behind: number;
  /** The tree was cut: at 500 events, or where it is too deep for readers of JSON. */
  readonly cut?: boolean;
  /** There is more, which the caller may not see. */
  readonly hidden?: boolean;
  readonly trace: TraceNodeView;
}

/** How a group does with an event. Failures are known until the event is settled; then only that it is. */
export interface TraceDeliveryView {
  /** Failed attempts so far. */
  readonly attempts?: number;
  readonly group: GroupName;
  readonly letter?: TraceLetterView;
  /** Who holds it. */
  readonly member?: string;
  /** What the last attempt failed with. */
  readonly reason?: string;
  /** Leases that went back because a connection ended. */
  readonly returns?: number;
  /** The hub that serves the group, if it is another one: then whether the event is in flight is not known here. */
  readonly served_by?: string;
  readonly state: TraceState;
}

/** What is known of an event. */
export interface TraceEventView {
  /** Groups that read the topic. */
  readonly deliveries?: readonly TraceDeliveryView[];
  readonly key?: string;
  readonly offset: number;
  readonly partition: number;
  /** Whether it is still stored. */
  readonly retained: boolean;
  readonly stored_ts?: number;
  readonly topic: TopicName;
  readonly ts?: number;
}

/** The dead letter of an event. */
export interface TraceLetterView {
  readonly attempts: number;
  /** What the group gave up with. */
  readonly err?: string;
  readonly id: EventId;
  readonly offset: number;
  readonly partition: number;
  /** Events as which it was published again. */
  readonly replayed?: readonly TraceNodeView[];
  readonly topic: TopicName;
  readonly ts: number;
}

/** An event in a tree. Of one that is gone, or that the caller may not read, only the id is told. */
export interface TraceNodeView {
  /** Events that led to it. */
  readonly causes?: readonly TraceNodeView[];
  /** Events that it led to. */
  readonly effects?: readonly TraceNodeView[];
  /** Not given: the event is not there (any more), or the caller may not read it. */
  readonly event?: TraceEventView;
  readonly id: EventId;
  /** It stands elsewhere in the tree with everything about it. */
  readonly repeated?: boolean;
}

/** Where an event is with a group. */
export type TraceState = "settled" | "in_flight" | "waiting" | "queued" | "dead";

/** What would become of a letter. */
export interface TriedLetterView {
  /** It is not that of the original. */
  readonly edited: boolean;
  readonly letter: EventId;
  /** The payload as it was. */
  readonly original: Json;
  /** The payload that would be sent; absent where the letter would be left as it is. */
  readonly payload?: Json;
  /** Why its event cannot be made or would be refused. */
  readonly unfit?: string;
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

/** The answer to `GET /whoami`. */
export interface WhoAmI {
  /** When the token ends, in epoch milliseconds. */
  readonly expires_at_ms?: number;
  /** The hub has no auth: every caller may do everything. */
  readonly open: boolean;
  readonly rights: ReachOfRights;
  /** The subject of the token. */
  readonly subject?: string;
  /** The rights to the topic of the query. */
  readonly topic?: RightsToTopic;
  /** The version of the hub. */
  readonly version: string;
  /** The port for WebSockets, where it is another one than that of this request. */
  readonly websocket_port?: number;
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

export type i64 = number;
