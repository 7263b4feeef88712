// One of the views of the page.

export interface View {
  readonly element: HTMLElement;
  /** The name of its content, for the title of the page. */
  readonly title?: string | undefined;
  /** Show the view; the fragment holds its state. */
  open(fragment: string): void;
  /** Stop its runs. */
  close(): void;
}

/** Puts the state of a view into the address; another content is an entry of the history. */
export type Keep = (state: string, isNew?: boolean) => void;
