/** Every view: its address, its name, and who is offered it. */

import type { FunctionComponent } from "preact";
import { may, me } from "./session.ts";
import type { IconName } from "./ui/Icon.tsx";
import { Audit } from "./views/Audit.tsx";
import { Connections } from "./views/Connections.tsx";
import { DeadLetters } from "./views/DeadLetters.tsx";
import { EventView } from "./views/Event.tsx";
import { Flows } from "./views/Flows.tsx";
import { Groups } from "./views/Groups.tsx";
import { Overview } from "./views/Overview.tsx";
import { Publish } from "./views/Publish.tsx";
import { Processes, StateView } from "./views/State.tsx";
import { Search } from "./views/Search.tsx";
import { Schemas } from "./views/Schemas.tsx";
import { Tail } from "./views/Tail.tsx";
import { Topics } from "./views/Topics.tsx";

export interface View {
  readonly id: string;
  readonly label: string;
  readonly Show: FunctionComponent;
  /** None is in the menu by itself. */
  readonly icon?: IconName;
  readonly isOffered: () => boolean;
}

export const VIEWS: readonly View[] = [
  { id: "overview", label: "Overview", icon: "overview", Show: Overview, isOffered: () => true },
  { id: "topics", label: "Topics", icon: "topics", Show: Topics, isOffered: () => may("ops") },
  { id: "groups", label: "Groups", icon: "groups", Show: Groups, isOffered: () => may("ops") },
  { id: "tail", label: "Live tail", icon: "tail", Show: Tail, isOffered: () => may("subscribe") },
  { id: "search", label: "Search", icon: "search", Show: Search, isOffered: () => may("subscribe") },
  { id: "dead-letters", label: "Dead letters", icon: "letters", Show: DeadLetters, isOffered: () => may("ops") },
  { id: "feeds", label: "Flows", icon: "flows", Show: Flows, isOffered: () => may("ops", "everywhere") },
  { id: "publish", label: "Publish", icon: "publish", Show: Publish, isOffered: () => may("publish") },
  { id: "state", label: "State", icon: "state", Show: StateView, isOffered: () => may("ops") && may("subscribe") },
  { id: "schemas", label: "Schemas", icon: "schemas", Show: Schemas, isOffered: () => may("ops") || may("subscribe") },
  { id: "connections", label: "Connections", icon: "connections", Show: Connections, isOffered: () => may("ops", "everywhere") },
  { id: "audit", label: "Audit trail", icon: "audit", Show: Audit, isOffered: () => me.value?.topic?.subscribe === true && me.value.topic.ops },
  { id: "processes", label: "Processes", Show: Processes, isOffered: () => may("subscribe") },
  { id: "events", label: "Event", Show: EventView, isOffered: () => may("subscribe") },
];
