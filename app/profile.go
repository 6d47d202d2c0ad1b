package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// readHeaderWithin bounds how long a visitor of the profiles may take to ask.
const readHeaderWithin = time.Second

// offerProfiles serves Go's profiles on an address of their own, apart from the house's visitors,
// until ctx ends.
func (h *house) offerProfiles(ctx context.Context) error {
	if h.settings.ProfileAddr == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", h.settings.ProfileAddr)
	if err != nil {
		return fmt.Errorf("MARTELO_PPROF: %w", err)
	}
	routes := http.NewServeMux()
	routes.HandleFunc("/debug/pprof/", pprof.Index)
	routes.HandleFunc("/debug/pprof/profile", pprof.Profile)
	routes.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: routes, ReadHeaderTimeout: readHeaderWithin}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }() // ends with Close
	h.log.Info("profiling", "address", listener.Addr().String())
	return nil
}
