/**
 * How frames travel: what a platform has to offer. Each message is one text; what a transport does with bytes is its
 * own affair.
 */

/** A way to reach hubs. */
export interface Transport {
  /** Starts to connect; everything else is told to the listener, never before this returns. */
  open(url: string, listener: TransportListener): TransportSocket;
}

/** One connection. After `onClose` nothing more is told. */
export interface TransportListener {
  onOpen(): void;
  onText(text: string): void;
  /** Something came that is no text: the hub is there. */
  onAlive(): void;
  /** What was sent has left, and more is welcome. */
  onDrained(): void;
  /** `code` is 1006 where no close came. */
  onClose(code: number, reason: string): void;
}

export interface TransportSocket {
  /** Hands a text over; it leaves with the next `flush`. */
  send(text: string): void;
  flush(): void;
  /** False while so much waits to leave that it is better to gather; `onDrained` follows. */
  readonly wantsMore: boolean;
  /** Asks the hub for a sign of life; absent where the platform cannot. */
  readonly ping?: () => void;
  /** Says goodbye. `onClose` follows. */
  close(code: number, reason: string): void;
  /** Ends it without a word. `onClose` does not follow. */
  abort(): void;
}
