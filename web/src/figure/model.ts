// A figure as data: the description that `python/sojourn/picture/chart.py` writes. Keys with their default are absent.

import type { VerdictPicture } from "../record.ts";

export type Column = readonly (number | null)[];

export interface Layer {
  name: string;
  kind: "line" | "area" | "dots" | "text" | "boxes" | "rects" | "rules";
  /** The columns of the points; which they are depends on the kind. */
  columns: readonly Column[];
  colour?: string;
  texts?: readonly string[];
  fills?: readonly string[];
  width?: number;
  dash?: readonly number[];
  steps?: "step-after" | "step-before";
  shape?: string;
  size?: number;
  opacity?: number;
  horizontal?: boolean;
  align?: "left" | "right";
  listed?: boolean;
  link?: string;
  part?: string;
}

export interface Scale {
  type?: "linear" | "log" | "sqrt";
  domain?: readonly [number, number];
  domainMin?: number;
  zero?: boolean;
  nice?: boolean;
}

export interface Ticks {
  values?: readonly number[];
  labels?: readonly string[];
  percent?: boolean;
  tilted?: boolean;
}

export interface Panel {
  title: string;
  x?: string;
  y?: string;
  layers: readonly Layer[];
  behind: readonly { spans: readonly (readonly [number, number])[]; colour: string }[];
  width?: number;
  height?: number;
  x_axis?: Ticks;
  y_axis?: Ticks;
  x_scale?: Scale;
  y_scale?: Scale;
  bare?: boolean;
  legend?: boolean;
  zoom?: readonly [number, number];
  key?: string;
}

export interface Figure {
  keys: readonly Layer[];
  links: readonly string[];
  windows: readonly (readonly [number, number, string])[];
  rows: readonly (readonly Panel[])[];
  /** The picture of the verdict, and the colours of its controllers. */
  bars?: { picture: VerdictPicture; colours: readonly (string | null)[] } | null;
}
