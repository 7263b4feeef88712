// One of the views of the page.

export interface View {
  readonly element: HTMLElement;
  /** Show the view; the fragment holds its state. */
  open(fragment: string): void;
  /** Stop its runs. */
  close(): void;
}
