/** The kinds of panels that the dashboards have, and their places on the grid. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import {
  BigValueColorMode,
  BigValueGraphMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common'
import {
  type DashboardBuilder,
  DashboardLinkBuilder,
  DashboardLinkType,
  type GridPos,
  type Panel,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table'
import { PanelBuilder as TimeSeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries'
import { DATA_SOURCE, type Format, query } from './query.ts'

/** What a panel says of itself: a title, a sentence that explains it, and its SQL. */
export interface Told {
  readonly title: string
  readonly description: string
  readonly sql: string
}

interface Placed extends Builder<Panel> {
  id(id: number): this
  gridPos(place: GridPos): this
}

/** Panels side by side, each with its width; all widths together are 24. */
export interface Line {
  readonly height: number
  readonly panels: readonly (readonly [width: number, panel: Placed])[]
}

/** Adds the panels line by line; their ids count from 1. */
export function placePanels(dashboard: DashboardBuilder, lines: readonly Line[]): DashboardBuilder {
  let id = 0
  let y = 0
  for (const { height, panels } of lines) {
    let x = 0
    for (const [width, panel] of panels) {
      id += 1
      dashboard.withPanel(panel.id(id).gridPos({ x, y, w: width, h: height }))
      x += width
    }
    y += height
  }
  return dashboard
}

/** Lines over time. Where there is no value the line is broken: a gap stays a gap. */
export function graph({ title, description, sql }: Told): TimeSeriesBuilder {
  return new TimeSeriesBuilder()
    .title(title)
    .description(description)
    .datasource(DATA_SOURCE)
    .withTarget(query(sql, 'time_series'))
    .spanNulls(false)
    .showPoints(VisibilityMode.Always)
    .pointSize(4)
    .lineWidth(2)
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.None))
}

/** Rows, as the query orders them. */
export function table({ title, description, sql }: Told): TableBuilder {
  return new TableBuilder()
    .title(title)
    .description(description)
    .datasource(DATA_SOURCE)
    .withTarget(query(sql, 'table'))
    .showHeader(true)
    .filterable(true)
}

/** The last number of each column. */
export function figure({ title, description, sql }: Told, format: Format = 'table'): StatBuilder {
  return new StatBuilder()
    .title(title)
    .description(description)
    .datasource(DATA_SOURCE)
    .withTarget(query(sql, format))
    .graphMode(format === 'table' ? BigValueGraphMode.None : BigValueGraphMode.Area)
    .colorMode(BigValueColorMode.Value)
    .reduceOptions(new ReduceDataOptionsBuilder().values(false).calcs(['lastNotNull']))
}

/** Green at zero, orange from one on: what a person should look at. */
export const orangeFromOne = () =>
  new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([
    { value: null, color: 'green' },
    { value: 1, color: 'orange' },
  ])

/** The way to the other dashboard. */
export const linkToOthers = () =>
  new DashboardLinkBuilder('storerank')
    .type(DashboardLinkType.Dashboards)
    .tags(['storerank'])
    .icon('external link')
    .tooltip('')
    .asDropdown(false)
    .targetBlank(false)
    .includeVars(false)
    .keepTime(false)
