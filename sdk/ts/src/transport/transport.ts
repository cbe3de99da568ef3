/**
 * How frames travel: what a platform must offer. Each message is one text; how a transport handles bytes is its own
 * business.
 */

/** A way to reach hubs. */
export interface Transport {
  /** Starts to connect; everything else is reported to the listener, never before this returns. */
  open(url: string, listener: TransportListener): TransportSocket;
}

/** One connection. After `onClose` nothing more is reported. */
export interface TransportListener {
  onOpen(): void;
  onText(text: string): void;
  /** Something other than text came: the hub is there. */
  onAlive(): void;
  /** Sent data has left, and more is welcome. */
  onDrained(): void;
  /** `code` is 1006 if no close came. */
  onClose(code: number, reason: string): void;
}

export interface TransportSocket {
  /** Hands a text over; it leaves with the next `flush`. */
  send(text: string): void;
  flush(): void;
  /** False while so much waits to leave that gathering is better; `onDrained` follows. */
  readonly wantsMore: boolean;
  /** Pings the hub; absent if the platform cannot. */
  readonly ping?: () => void;
  /** Says goodbye. `onClose` follows. */
  close(code: number, reason: string): void;
  /** Ends it without a close. `onClose` does not follow. */
  abort(): void;
}
