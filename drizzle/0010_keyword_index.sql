DROP INDEX "target_by_subject";--> statement-breakpoint
CREATE INDEX "target_by_keyword" ON "target" USING hash ((case function when 'app_searches' then subject end));